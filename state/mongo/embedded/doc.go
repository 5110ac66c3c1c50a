// Package embedded is an in-process MongoDB server. It speaks the wire protocol of mgo and of current
// drivers, and stores its documents in Pebble through package storage.
//
//	server, err := embedded.Open(dir, embedded.Options{})
//	session, err := mgo.DialWithInfo(&mgo.DialInfo{
//		Addrs:      []string{"127.0.0.1:1"}, // never dialled
//		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return server.Dial() },
//	})
//
// It behaves like a MongoDB 4.4 that is the only member of a replica set: it supports many of that version's commands,
// operators and error codes, and rejects the rest with the code that MongoDB uses for unknown ones.
//
// Every change to a single document is atomic, and so is a transaction. The store records each session's last transaction
// or retryable write in the same batch as its changes, so a client that missed the reply can repeat it without doing
// anything twice, even after a restart. Change streams can be resumed until the server stops. Writes are acknowledged
// before they reach the disk; Barrier waits until they have. Clients request that with j: true or w: "majority", and
// Options.SyncEvery bounds the delay of all other writes.
//
// Package raw reads BSON in place, keys orders it, query, update and pipeline implement the operators, plan picks
// indexes, storage stores the documents, and wire and link carry the messages. This package implements the
// connections, commands and cursors.
package embedded
