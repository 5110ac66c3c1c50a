// Package statusfmt formats the output of `juju status`:
//
//	tabular      tables for people, with colors on a terminal
//	oneline      a line for each unit; also called short and line
//	summary      counts
//	yaml, json   everything, for programs
//
// Statuses are derived by the controller, so that all clients show the same.
package statusfmt
