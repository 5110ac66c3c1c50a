// Package controller implements `jujud controller`: the store, the API server, and the workers
// that a controller runs for each of its models. Bootstrap creates a controller.
//
// A controller's directory is controller/ in the cloud's directory. It holds
//
//	controller.conf   its certificates, its address, its agent's password
//	db/               the embedded store
//	logs/             the agents' logs
//	lock, alive, …    see package agent/host/process
//
// A controller that is killed at any moment restarts from these files alone. Its workers are
// agents like any other: they log in to the API as machine 0 of the controller's model, over a
// connection in memory. Only the cleaner, the resumer and the pruner use state directly.
package controller
