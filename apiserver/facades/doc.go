// Package facades has the methods of the API. It knows nothing of the connections that carry their requests.
//
// One table, in routes.go for users and in agentroutes.go for agents, defines for every method where it is served, who
// may call it, and which entities an agent may name. Dispatch, the list of facades in the reply to a login, and the
// access test are derived from it. A method for users has a thin function (application.go, …) that translates
// parameters, calls state, and translates results. A method for agents is a method of state, named in its row.
package facades
