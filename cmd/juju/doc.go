// Command juju is the command-line client.
//
// Most commands have a file of their own: it reads the arguments, calls the API and prints the
// result. What they share:
//
//	main.go      the program: signals, exit codes, printing of errors
//	root.go      the tree of commands
//	session.go   the environment of a command: streams, flags of all commands
//	connect.go   choosing the controller and model, and connecting to them
//	local.go     controllers of the local cloud: finding and restarting them
//	progress.go  progress messages during long waits
//	wait.go      waiting for a model to reach a state
//	changes.go   watching a model's status while waiting
//
// Package store holds what the client remembers between commands, and package statusfmt the
// formats of status.
//
// Exit codes: 0 done, 1 failed, 2 invalid command line. An error is one line on standard error
// that begins with ERROR, often followed by a line that says what to do next. Progress also
// goes to standard error; standard output has only the result.
package main
