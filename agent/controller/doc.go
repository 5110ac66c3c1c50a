// Package controller is what `jujud controller` runs: the store, the API server,
// and the workers that a controller runs for each of its models. Bootstrap makes
// what it then finds.
//
// A controller's directory, controller/ below the cloud's, holds
//
//	controller.conf   its certificates, its address, its agent's password
//	db/               the embedded store
//	logs/             what the agents log
//	lock, alive, …    that it runs, and runs once (package provider/process)
//
// Nothing else is kept: a controller that is killed at any moment comes back from
// these. Its workers are agents like others: they log in to the API as machine 0
// of the controller's model, over a connection in memory. Only the cleaner, the
// resumer and the pruner work on state itself.
package controller
