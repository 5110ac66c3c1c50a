// Package apiserver serves the API of a controller: JSON requests over TLS websockets in Juju's wire format, charms and
// logs over HTTPS, and all of these to the controller's own workers over in-memory connections. It authenticates
// clients, and dispatches their requests to the methods of package facades.
//
// Nothing is sent before everything it depends on is on disk: each reply, event of a watch and response to an upload
// first passes the store's barrier.
//
// Everything has a limit: the size of a frame, the requests and watches of a connection, concurrent logins, the time a
// client has to log in and to read its replies, and the time it may be silent. Nothing that is started for a connection
// outlives it.
package apiserver
