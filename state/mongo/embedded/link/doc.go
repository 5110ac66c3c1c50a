// Package link is an in-process connection: both its ends are net.Conns, and what is written to
// one is read from the other.
//
// net.Pipe would not do. Its Write waits for the reader, and mgo holds its socket's lock while it
// writes, the lock that its reader needs to receive an answer: two ends that write at once would
// deadlock. So a Write here never waits; the bytes go to a buffer that grows. The protocol bounds
// it: a client sends a few requests and then waits for the answers.
//
// There are no goroutines and no sockets, so a link works in a testing/synctest bubble, whose
// clock advances when both ends wait.
package link
