// Package servertxn runs the operations of a transaction in one transaction of the server, in place of mgo/txn: an embedded
// store, or a MongoDB from version 4.0 in a replica set.
//
// Each document takes one statement, which finds it by its id and its asserts, and changes it. If a statement finds fewer
// documents than it names, an assert doesn't hold, and the transaction is aborted. A document that is only asserted is
// changed as well, in AssertedField: a snapshot read alone would not conflict with others' changes.
package servertxn
