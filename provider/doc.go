// Package provider defines what the orchestrator needs of a cloud: starting a machine with an
// agent on it, stopping it, and listing everything it has started. It keeps no state beyond
// what the cloud itself keeps, and knows nothing of the store.
//
// Every instance is tagged with its controller, its model and its machine. Only those tags tie
// an instance to a model. An instance is a stray if state does not know its machine, or knows
// the machine with another instance; the caller that compares the two lists may stop it.
//
// Each cloud is a package below this one. None registers itself: a program opens the clouds it
// knows.
package provider
