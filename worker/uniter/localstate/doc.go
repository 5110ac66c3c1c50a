// Package localstate is all that a unit agent remembers: one file, replaced as a
// whole, so that it always tells of one moment.
//
// It holds what nobody else knows: which hooks have run, which one is in flight, and
// what the charm has been told of its relations. What is also in the controller's
// state, such as the scopes that the unit is in, is read there and never from here.
package localstate
