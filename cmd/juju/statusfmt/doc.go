// Package statusfmt writes what `juju status` shows, in each of its formats:
//
//	tabular   tables for people, with colours on a terminal
//	oneline   a line for each unit; short and line are other names of it
//	summary   counts
//	yaml, json   everything, for programs
//
// It decides nothing: what an entity's status is has been derived where it was
// read, so that every client shows the same.
package statusfmt
