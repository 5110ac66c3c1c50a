// Package conformancetest defines what state requires of a store: it is a test suite, written
// against mgo, that runs on any server that speaks MongoDB's protocol.
//
//	conformancetest.Run(t, func(t testing.TB) *mgo.Session { … })
//
// The tests require the behaviour of MongoDB 3.6, as far as mgo/txn, juju/txn and state use it.
// Where MongoDB's releases differ, either result is accepted, and a comment says so. Every test
// works in its own database, which it drops, so the suite may run on a server that holds other
// data.
//
// This package's own tests run the suite on the embedded store, and on a real mongod if there is
// one. They also contain tests that need a running server: mgo's own transaction suite, the
// official Go driver as a second client, and benchmarks of the store through mgo.
package conformancetest
