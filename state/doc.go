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
// when, and who moves it. move.go and remove.go ask lifecycle.Plan for a step and turn that
// into operations. Work that one transaction can't hold, because it has no bound, is left to
// cleanups: documents written in the transaction that causes them.
package state
