// Package state implements a model: its machines, services, units and relations. It is stored in MongoDB, or in the
// embedded store, which speaks MongoDB's protocol, and changed only by transactions.
//
// A State is the database of one model; package state/controller opens it. Entities are read as values (Machine, Unit,
// Service, Relation), which are snapshots. Their methods re-read what they need; each is one transaction, consisting of
// assertions and changes.
//
// The tables of package state/lifecycle specify which entity may move from which life to which, when, and who moves it.
// The files life_*.go implement them. Read them in this order:
//
//   - life_entities.go: entities as the tables see them, their references, and the parameters of a destruction;
//   - life_move.go: a step, planned by lifecycle.Plan, as one transaction;
//   - life_remove.go: removal in such a step, with what the entity owns and refers to;
//   - life_cascade.go: the effects of a destruction on other entities, in the same transaction or, since they are
//     unbounded, in a cleanup;
//   - life_cleanup.go: how the cleaner runs cleanups; for differences between kinds see machine_life.go, unit_life.go
//     and so on;
//   - life_force.go: forced removal, and what it leaves in the cloud.
//
// The other files are named after their subject. Leaving a relation is in relation_scopes.go.
//
// Packages below internal depend only on the documents, and have a subject each: modeldb defines the documents, modeltxn
// reads them and builds transactions.
package state
