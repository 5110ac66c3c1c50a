// Package localstate is all that a unit agent remembers. It is one file whose content
// is replaced as a whole, so it always describes one moment.
//
// It holds what only the agent knows: which hooks have run, which one is running, and what
// the charm has been told about its relations. What is also in the controller's state, such
// as the scopes that the unit is in, is read there and never from here.
package localstate
