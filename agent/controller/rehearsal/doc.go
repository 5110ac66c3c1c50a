// Package rehearsal foresees what a change of a model leads to. It makes the change in a copy of the model, in memory,
// and then does there what the cloud, the agents and the controller's workers would do, until nothing is left to do. The
// units decide by their agents' own resolver, and act by their agents' own operations; only their hooks do nothing.
package rehearsal
