// Package link is a connection that never leaves the process: both its ends
// are net.Conns, and what is written to one is read from the other.
//
// net.Pipe would not do. Its Write waits for the reader, and mgo holds its
// socket's lock while it writes, the same lock that its reading side needs to
// take an answer off: two ends that write at once would wait for each other
// for good. So a Write here never waits; the bytes lie in a buffer that grows.
// What bounds it is the protocol: a client sends a request or a few and then
// waits for the answers.
//
// There are no goroutines and no sockets behind it, so that all of it can live
// in a testing/synctest bubble, whose clock moves on when both ends wait.
package link
