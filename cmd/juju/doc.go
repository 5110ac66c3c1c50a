// Command juju is the command-line client.
//
// Each command has a file in the package of its subject: actions, blocks, bundles, charms, controllers, machines, models,
// services, ssh, status, storage, users or wait. It parses the arguments, calls the API and prints the result. Package
// commands has the tree of all commands, and runs one. Tests of a subject's commands lie beside them, and use package
// clitest; this package has the program, and the tests of all commands together.
//
// Package cli has what the commands share, clouds the client's view of each cloud, connect the connections to
// controllers, and store the client's persistent data.
//
// Exit codes: 0 success, 1 failure, 2 invalid command line. An error is one line on standard error that starts with
// ERROR, often followed by a hint about what to do next. Progress also goes to standard error; standard output has only
// the result.
package main
