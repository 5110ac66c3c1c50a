// Package sshhost turns a host that a user has into a machine, over SSH. It is for the user's
// program, which has the user's keys; the controller never connects to hosts.
//
// A host is trusted only by a key that is in the user's known_hosts files. Users are known by
// their keys, from ssh-agent and from files; passwords are never asked for. On the host everything
// is done by /bin/sh as root, or through sudo, and what has to be kept secret reaches it through
// standard input.
package sshhost
