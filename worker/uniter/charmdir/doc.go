// Package charmdir keeps a unit's charm directory: it deploys charms there, one over the
// other, and records what hooks change in it.
//
// Hooks may write to the directory while they run, and so may the user while the unit is in
// error. An upgrade therefore replaces only the files that the old charm brought, and leaves
// alone what hooks and users have added.
//
// The directory is also a git repository with its own history, a commit for each hook. It is
// there for people who look into a problem. No charm may depend on it, and no failure of it
// stops a unit.
package charmdir
