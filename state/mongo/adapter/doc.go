// Package adapter stands between mgo and a MongoDB of today.
//
// mgo speaks OP_QUERY, OP_GET_MORE and OP_KILL_CURSORS, which MongoDB no longer
// takes from 5.1 on; since 3.6 there is OP_MSG, which takes their place. A
// connection of the adapter is one that mgo can use, and behind it one to a
// server, on which nothing but OP_MSG travels:
//
//	a := adapter.New(adapter.Options{Dial: dial})
//	session, err := mgo.DialWithInfo(&mgo.DialInfo{
//		Addrs:      hosts,
//		DialServer: func(addr *mgo.ServerAddr) (net.Conn, error) { return a.Connect(addr.String()) },
//	})
//
// What mgo sends becomes this:
//
//	command in OP_QUERY   the same command; its reply comes back as OP_REPLY
//	ismaster              hello, where the server has it
//	getnonce              answered here: servers of today don't know it
//	tail, other OP_QUERY  find
//	OP_GET_MORE           getMore
//	OP_KILL_CURSORS       killCursors, without a reply
//
// The flag SlaveOk becomes $readPreference, and a query wrapped into $query is
// taken out of it with its options. Requests keep their order. A connection ends
// when either side closes it, and after an answer that says that the server is
// no primary any more: mgo notices that by nothing else.
//
// The one message that is not OP_MSG is the first: the greeting, which every
// version takes as OP_QUERY and which tells what the server is.
//
// The parts: request.go and reply.go translate, conn.go moves messages, cursors.go
// knows which collection a cursor is of, hello.go greets, adapter.go holds it all.
package adapter
