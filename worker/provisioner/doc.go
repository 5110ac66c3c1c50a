// Package provisioner makes sure that every machine of a model that is not Dead
// has an agent on a live instance, and that Dead machines and stray instances are
// cleaned up.
//
// A machine that is Alive and has no instance gets one. A machine that has none and
// is not Alive becomes Dead and is removed. The instance of a Dead machine is
// stopped, then the machine is removed. A machine that is Dying with an instance is
// its own agent's concern, and one that runs a controller is nobody's.
//
// An instance that can't be had puts its machine into the status error, which the
// user sees; the other machines go on. Nothing that a provisioner knows outlives it:
// the next one finds what was left half-way among the cloud's instances, and stops
// it.
package provisioner
