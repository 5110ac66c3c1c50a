// Package store is what the command line remembers between two commands: which
// controllers there are, as whom and by which password it logs in to each, and
// which models it knows there.
//
// It is three files in one directory, each written as a whole:
//
//	controllers.yaml   addresses and CA certificates; which controller is selected
//	accounts.yaml      users and passwords
//	models.yaml        UUIDs; which model is selected
//
// A file that would be empty is not there, and neither is the directory once it
// holds nothing. Whoever changes them holds the directory's lock, which is on
// the directory itself so that no file has to be left for it; readers need none.
package store
