// Package charmdir manages a unit's charm directory: it deploys charms there and records what hooks change.
//
// Hooks may write to the directory, and so may the user while the unit is in error. An upgrade therefore replaces
// only the files that came with the old charm, and keeps those that hooks and users have added.
//
// The directory is also a git repository, with a commit after each hook, to help people debug problems.
// Charms must not depend on it, and its errors never stop a unit.
package charmdir
