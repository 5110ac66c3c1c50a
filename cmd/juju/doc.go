// Command juju is the command-line client.
//
// A command has a file in the package of its subject: actions, blocks, bundles, charms, controllers, machines, models,
// services, ssh, status, storage, users or wait. It reads the arguments, calls the API and prints the result. Here are:
//
//	main.go      the program: signals, exit codes, printing of errors
//	root.go      the tree of commands
//	unknown.go   the errors for what there is no command or flag for
//	helptool.go  and version.go, the commands about the program itself
//
// What commands share is in package cli. Package clouds has what a cloud is to the client, connect connects to
// controllers, store holds what the client remembers between commands, and statusfmt has the formats of status.
//
// Exit codes: 0 done, 1 failed, 2 invalid command line. An error is one line on standard error
// that begins with ERROR, often followed by a line that says what to do next. Progress also
// goes to standard error; standard output has only the result.
package main
