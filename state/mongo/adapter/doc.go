// Package adapter connects mgo to a current MongoDB.
//
// mgo uses OP_QUERY, OP_GET_MORE and OP_KILL_CURSORS, which MongoDB has not accepted since 5.1; OP_MSG
// replaced them in 3.6. The adapter provides connections that mgo can use, each backed by a connection to a
// server that carries only OP_MSG:
//
//	a := adapter.New(adapter.Options{Dial: dial})
//	session, err := mgo.DialWithInfo(&mgo.DialInfo{
//		Addrs:      hosts,
//		DialServer: func(addr *mgo.ServerAddr) (net.Conn, error) { return a.Connect(addr.String()) },
//	})
//
// It translates mgo's messages:
//
//	command in OP_QUERY   the same command; its reply comes back as OP_REPLY
//	ismaster              hello, if the server has it
//	getnonce              answered by the adapter: current servers don't support it
//	tail, other OP_QUERY  find
//	OP_GET_MORE           getMore
//	OP_KILL_CURSORS       killCursors, without a reply
//
// The flag SlaveOk becomes $readPreference, and a query wrapped in $query is unwrapped together with its options.
// Requests keep their order. A connection ends when either side closes it, and after a reply that says that the server
// is no longer primary, which mgo would not notice.
//
// After ReadMajority, reads have read concern majority (concern.go).
//
// The only message that isn't OP_MSG is the first, the greeting: every version accepts it as OP_QUERY, and the reply
// describes the server.
//
// request.go and reply.go translate messages, conn.go transfers them, cursors.go maps cursors to collections, hello.go
// does the greeting, and adapter.go manages the connections.
package adapter
