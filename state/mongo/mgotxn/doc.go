// Package mgotxn runs transactions with gopkg.in/mgo.v2/txn, on a MongoDB that has none of its own, and mends what it leaves
// behind: transactions that a crash interrupted, and documents that refer to lost ones.
//
// mgo/txn needs help in four places. It loses updates if transactions on the same documents are delayed between its steps, so
// callers lock the documents first. It panics on a lost transaction, and leaves its own prepared, which would spread the
// damage (lost.go). It loads each finished transaction that a document's queue names (queues.go), with everything that was
// written (slim.go).
package mgotxn
