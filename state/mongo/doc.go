// Package mongo connects to the store and runs transactions on it.
//
// The rest of state has a single code path, gopkg.in/mgo.v2 and its txn: a Store opens Databases, and a Database runs
// transactions and reads. Callers can't tell whether the store is the server embedded in this process or a MongoDB.
package mongo
