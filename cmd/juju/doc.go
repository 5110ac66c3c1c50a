// Command juju is what its users type.
//
// Each command has a file of its name: it reads its arguments, calls the API and
// prints. What they share:
//
//	main.go      the program: signals, exit codes, how errors are printed
//	root.go      the tree of commands
//	session.go   what a command works with: the streams, the flags of all commands
//	connect.go   which controller and model, and the way there
//	local.go     controllers of the local cloud: where they are, and their revival
//	progress.go  what is said during long waits
//	wait.go      waiting for what a model is to become
//
// What it remembers between two commands is in package store, the formats of
// status are in package statusfmt.
//
// Exit codes: 0 done, 1 failed, 2 a command line that can't be understood. An
// error is one line on standard error that begins with ERROR, and often a line
// after it that says what to do next. What is said on the way goes to standard
// error too; standard output has nothing but what was asked for.
package main
