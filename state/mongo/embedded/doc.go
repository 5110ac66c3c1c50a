// Package embedded is a MongoDB server inside the process: the wire protocol
// that mgo and today's drivers speak, over documents that package storage
// keeps in Pebble.
//
//	server, err := embedded.Open(dir, embedded.Options{})
//	session, err := mgo.DialWithInfo(&mgo.DialInfo{
//		Addrs:      []string{"127.0.0.1:1"}, // never dialled
//		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return server.Dial() },
//	})
//
// It answers as MongoDB 3.6 does: with that version's commands, operators
// and error codes, as far as it has them. What it does not have it refuses
// with the code MongoDB uses for what it does not know.
//
// Every change of a single document is atomic. Writes are answered before
// they are on disk; Barrier returns when they are. A client asks for that
// with j: true or w: "majority", and Options.SyncEvery bounds how long it takes
// when nobody does.
//
// The parts: raw reads BSON in place, keys orders it, query and update give
// the operators their meaning, plan picks indexes, storage keeps the
// documents, wire and link carry the messages. This package has the
// connections, the commands and the cursors.
package embedded
