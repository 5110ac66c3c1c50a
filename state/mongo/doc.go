// Package mongo reaches the store, whichever it is, and runs transactions on it.
//
// The rest of state sees one code path, gopkg.in/mgo.v2 and its txn: a Store
// hands out Databases, a Database runs transactions and reads. Whether the other
// end is the embedded server of this process or a MongoDB, nobody above can tell.
package mongo
