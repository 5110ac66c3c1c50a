// Package apiserver serves the API of a controller: JSON requests over TLS
// websockets in Juju's wire format, charms and logs over HTTPS, and the same
// to the controller's own workers over connections in memory.
//
// One table, in routes.go for users and in agentroutes.go for agents, says for
// every method where it is found, who may call it, and by which check an agent
// is kept to what is its own. Dispatch, the facades that a login lists, and the
// test of who may call what all come from it. A method for users has a thin
// function (application.go, …): parameters in, a call of state, results out. A
// method for agents is a method of state's, as its row says.
//
// Nothing is sent before what it rests on is on disk: every reply, event of a
// watch and answer to an upload first passes the store's barrier.
//
// Everything is bounded: the size of a frame, requests and watches of one
// connection, logins at once, the time that a client may take to log in, to
// read its replies or to say nothing. What is done for a connection ends with it.
package apiserver
