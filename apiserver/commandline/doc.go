// Package commandline runs a command line of the CLI for a user who is elsewhere, in a process of its own. The controller
// starts the process with Run; in it, Receive returns what to run.
//
// The process belongs to the controller's user, so it must not be able to do what that user can. It gets its request,
// which has a password, on standard input, and no environment. It reaches the controller through a socket that it
// inherits: for each connection it sends one end of a socket pair over it, which the controller serves like any other
// connection from the address of the user. Before it parses the command line, it gives up files, programs and the
// network for good (see confine). It ends when the controller does.
package commandline
