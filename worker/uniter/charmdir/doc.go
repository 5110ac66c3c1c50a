// Package charmdir keeps a unit's charm directory: it puts charms there, one over
// the other, and records what hooks make of it.
//
// The directory belongs to the orchestrator, which cedes it to the charm while a
// hook runs, and to the user while the unit is in error. So an upgrade replaces what
// the charm before had brought, and leaves alone what hooks and users have added.
//
// The directory is also a git repository that holds its own history, hook by hook.
// That is for humans who dig in it: no charm may depend on it, and nothing that goes
// wrong with it ever stops a unit.
package charmdir
