// Package apiserver serves the API of a controller: JSON requests over TLS websockets in
// Juju's wire format, charms and logs over HTTPS, and all of that to the controller's own
// workers over connections in memory. It authenticates who connects, and carries requests to
// the methods of package facades.
//
// Nothing is sent before all that it depends on is on disk: every reply, event of a watch
// and answer to an upload first passes the store's barrier.
//
// Everything has a limit: the size of a frame, the requests and watches of a connection,
// concurrent logins, the time a client has to log in and to read its replies, and the time
// it may be silent. Nothing that is done for a connection outlives it.
package apiserver
