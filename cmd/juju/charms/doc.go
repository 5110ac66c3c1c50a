// Package charms reads charms from directories, archives, local repositories and the model, and has the commands about
// a service's charm and its resources.
package charms
