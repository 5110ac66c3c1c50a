// Package client is the other side of the API: a connection with typed methods
// for agents and for the command line.
//
// Dial connects and logs in; what runs on the connection (requests, watches)
// ends when it ends, and whoever needs the controller after that dials anew:
// nothing here reconnects by itself, because only the caller knows what it then
// has to begin again.
//
// Errors come back as they left: errors.Is(err, entity.NotFound) and
// entity.Hint work on this side too. A request that could not be sent, or whose
// answer never came, is entity.Unavailable; it may have been done all the same.
//
// A watch is a channel. It closes when its context ends, or when the connection
// does, or when the server has ended the watch; who still wants to know, and
// whose connection still lives, watches again.
package client

//go:generate go run ./generate
