// Package charms reads charms from directories, archives, local repositories and the model, and implements the commands
// that manage a service's charm and its resources.
package charms
