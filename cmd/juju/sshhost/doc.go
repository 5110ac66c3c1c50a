// Package sshhost turns a user's host into a machine, over SSH. It runs in the client, which has the user's keys; the
// controller never connects to hosts.
//
// It trusts only host keys in the user's known_hosts files, and authenticates with keys from ssh-agent and files, never
// with passwords. On the host it runs /bin/sh as root or through sudo, and passes secrets on standard input.
package sshhost
