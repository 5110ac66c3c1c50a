// Package link implements an in-process connection: two net.Conns, each of which reads what is written to the
// other.
//
// net.Pipe isn't suitable: its Write waits for the reader, and mgo holds its socket's lock while it writes,
// but its reader needs that lock to receive a reply. Two ends that write at the same time would deadlock. So
// Write never waits here; it appends to a buffer that grows. The protocol bounds the buffer: a client sends a
// few requests and then waits for the replies.
//
// A link uses no goroutines and no sockets, so it works in a testing/synctest bubble, whose clock advances
// when both ends wait.
package link
