// Package conformancetest says what a store must do to carry state: it is a suite
// of tests, written against mgo, that can be run on any server of MongoDB's
// protocol.
//
//	conformancetest.Run(t, func(t testing.TB) *mgo.Session { … })
//
// What the tests ask for is what MongoDB 3.6 does, as far as mgo/txn, juju/txn
// and state use it. Where MongoDB's releases differ, either answer is taken,
// and a comment says so. Every test works in a database of its own, which it
// drops, so the suite may be pointed at a server that holds other things.
//
// The tests of this package run the suite on the embedded store, and on a real
// mongod where there is one. They also hold what needs a server as a process:
// mgo's own transaction suite, the official Go driver as a second client, and
// the benchmarks of the store as mgo's users see it.
package conformancetest
