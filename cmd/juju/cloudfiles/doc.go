// Package cloudfiles reads and writes the clouds and credentials that a user has defined: clouds.yaml and
// credentials.yaml in the client's data, and the files from which they come, in Juju's formats.
//
// It checks only the form of what it reads: what a kind of cloud can use, package clouds knows.
package cloudfiles
