// Package facades has the methods of the API. It knows nothing of the connections that carry
// their requests.
//
// One table, in routes.go for users and in agentroutes.go for agents, says for every method
// where it is found, who may call it, and how agents are kept to their own entities.
// Dispatch, the list of facades in the reply to a login, and the test of access come from
// it. A method for users has a thin function (application.go, …): parameters in, a call of
// state, results out. A method for agents is a method of state, as its row says.
package facades
