// Package localstate defines and stores the persistent state of a unit agent. It is a single file that is
// replaced atomically, so it is always consistent.
//
// It holds only what the controller does not know: which hooks have run, which one is running, and what the charm
// has seen of its relations. Everything else, such as the scopes that the unit is in, is read from the
// controller.
package localstate
