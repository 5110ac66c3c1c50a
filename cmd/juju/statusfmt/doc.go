// Package statusfmt formats the output of `juju status`:
//
//	tabular   tables for people, with colours on a terminal
//	oneline   a line for each unit; short and line are other names of it
//	summary   counts
//	yaml, json   everything, for programs
//
// It only formats: statuses are derived where they are read, so that every client shows the
// same.
package statusfmt
