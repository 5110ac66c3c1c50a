// Package apiserver serves the API of a controller: JSON requests over TLS websockets in
// Juju's wire format, charms and logs over HTTPS, and all of that to the controller's own
// workers over connections in memory.
//
// One table, in routes.go for users and in agentroutes.go for agents, says for every method
// where it is found, who may call it, and how agents are kept to their own entities.
// Dispatch, the list of facades in the reply to a login, and the test of access come from
// it. A method for users has a thin function (application.go, …): parameters in, a call of
// state, results out. A method for agents is a method of state, as its row says.
//
// Nothing is sent before all that it depends on is on disk: every reply, event of a watch
// and answer to an upload first passes the store's barrier.
//
// Everything has a limit: the size of a frame, the requests and watches of a connection,
// concurrent logins, the time a client has to log in and to read its replies, and the time
// it may be silent. Nothing that is done for a connection outlives it.
package apiserver
