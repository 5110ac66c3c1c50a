// Package client is the client of the API: a connection, with typed methods for the command
// line, and the facades of agents.
//
// Dial connects and logs in. Requests and watches end with their connection. Nothing here
// reconnects, because only the caller knows what it must start again.
//
// Errors arrive as the server returned them: errors.Is(err, entity.NotFound) and entity.Hint
// work on this side too. A request that could not be sent, or got no reply, returns
// entity.Unavailable; it may have been carried out nevertheless.
//
// A watch is a channel. It closes when its context ends, when the connection ends, and when
// the server ends the watch. A caller that still needs one, and whose connection is open,
// starts another.
package client

//go:generate go run ./generate
