// Package provisioner makes sure that every machine of a model that is not Dead
// has an agent on a live instance, and that Dead machines and stray instances are
// cleaned up.
//
// A machine that is Alive and has no instance gets one. A machine that has none and
// is not Alive becomes Dead and is removed; if there are units on it, which have lost
// their agents with an instance, it gets one for them to come to their end on. The
// instance of a Dead machine is stopped, then the machine is removed; if it can't be
// stopped, that is noted with the cloud's advice and tried again. A machine that is
// Dying with an instance is its own agent's concern, and one that runs a controller is
// nobody's.
//
// An instance that can't be had puts its machine into the status error, which the
// user sees; the other machines go on.
//
// The model's setting provisioner-harvest-mode can take from it the stopping of
// instances that destroyed machines have left, and of those that are no machine's.
// What a failed start has left is stopped in any case.
//
// At the start, and every few minutes, it looks at all that the cloud has. What
// is no machine's is stopped, what force has left and is gone is forgotten, and a
// machine whose instance is missed in two looks gets another. Nothing that a
// provisioner knows outlives it: the next one finds what was left half-way among the
// cloud's instances.
package provisioner
