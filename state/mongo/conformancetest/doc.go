// Package conformancetest defines what a store must do for state: it is a suite of tests, written
// against mgo, that runs on any server of MongoDB's protocol.
//
//	conformancetest.Run(t, func(t testing.TB) *mgo.Session { … })
//
// The tests require the behaviour of MongoDB 3.6, as far as mgo/txn, juju/txn and state use it.
// Where MongoDB's releases differ, either answer is accepted, and a comment says so. Every test
// works in a database of its own, which it drops, so the suite may run on a server that holds
// other data.
//
// The tests of this package run the suite on the embedded store, and on a real mongod if there is
// one. They also contain what needs a server as a process: mgo's own transaction suite, the
// official Go driver as a second client, and benchmarks of the store through mgo.
package conformancetest
