// Package client is the client of the API: a connection, with typed methods for the command line and the facades of
// agents.
//
// Dial connects and logs in. Requests and watches end with their connection. Nothing here reconnects, because only the
// caller knows what it must restart.
//
// Errors arrive as the server returned them, so errors.Is(err, entity.NotFound) and entity.Hint work on the client too.
// A request that could not be sent, or got no reply, returns entity.Unavailable; it may have been executed
// nevertheless.
//
// A watch is a channel. It is closed when its context ends, when the connection ends, or when the server ends the
// watch. A caller that still needs it, and whose connection is open, starts another.
package client

//go:generate go run ./generate
