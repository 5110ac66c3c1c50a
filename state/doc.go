// Package state is what a controller knows: the users and models of the
// controller, and of each model its machines, services, units and relations. It
// is kept in a store of MongoDB's kind and changed by transactions only.
//
// A Controller is the database "juju"; a State is the database of one model. The
// things in a model are read as values (Machine, Unit, Service, Relation) that
// hold what was true when they were read; their methods read again what they
// need, and each is one transaction, built from facts that it asserts.
//
// Who may live and die, when, and by whose hand stands in the tables of package
// state/lifecycle; the builders here ask it for a plan and turn that into
// operations. What one transaction can't hold, because it has no bound, is left
// to cleanups, which are documents written in the transaction that causes them.
package state
