// Package store holds what the client remembers between commands: the controllers, the user
// and password for each, and the models known there.
//
// It consists of three files in one directory, each written as a whole:
//
//	controllers.yaml   addresses and CA certificates; which controller is selected
//	accounts.yaml      users and passwords
//	models.yaml        UUIDs; which model is selected
//
// Empty files are not written, and a directory that would be empty is removed. Writers hold a
// lock on the directory itself, so that no lock file stays behind. Readers need no lock.
package store
