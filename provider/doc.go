// Package provider says what the orchestrator needs of a cloud: to start a
// machine with an agent on it, to stop it, and to find again all that it ever
// started. It holds no state beyond what the cloud itself holds, and knows
// nothing of the store.
//
// Every instance is tagged with its controller, its model and its machine.
// Those tags are all that ties an instance to a model: an instance whose
// machine state doesn't know, or knows with another instance, is a stray, and
// whoever compares the two lists may stop it.
//
// The clouds are packages below this one. None registers itself: a binary
// says in its own code, in a Clouds, which it can use.
package provider
