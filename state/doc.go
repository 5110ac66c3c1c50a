// Package state holds what is in a model: its machines, services, units and relations. It is
// stored in MongoDB, or in the embedded store with MongoDB's protocol, and changed only by
// transactions.
//
// A State is the database of one model; package state/controller opens it. The entities of a
// model are read as values (Machine, Unit, Service, Relation), snapshots of when they were
// read. Their methods read again what they need; each is one transaction, made of the facts
// that it asserts and the changes that it makes.
//
// The tables of package state/lifecycle say which entity may move from which life to which,
// when, and who moves it. The files life_*.go turn that into operations. Read them in this order:
//
//   - life_entities.go: what the tables call an entity, how its references are found, and what a destruction
//     asks for;
//   - life_move.go: a step, planned by lifecycle.Plan, as one transaction;
//   - life_remove.go: the end of that step, with what the entity owns and refers to;
//   - life_cascade.go: what a destruction does to others, in the transaction or left to a cleanup, because it
//     has no bound;
//   - life_cleanup.go: how the cleaner does the work of cleanups, and machine_life.go, unit_life.go and the
//     files of the other kinds for what differs;
//   - life_force.go: forced removal, and what it leaves outside state.
//
// The other files are grouped by what they are about: machine_placement.go is about machines. What a unit's agent
// does to leave a relation is in relation_scopes.go.
//
// Packages below internal have what stands on the documents alone: modeldb has these, modeltxn reads them and builds
// transactions; explain and modelstatus say how a model is, modelcheck finds what can't be; leadership, tasks,
// resources and ports are subjects of their own.
package state
