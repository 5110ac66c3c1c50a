// Package store persists the client's data: the controllers, the user and password for each, and their models.
//
// It consists of files in one directory, each written atomically:
//
//	controllers.yaml   addresses and CA certificates; the selected controller
//	accounts.yaml      users and passwords
//	models.yaml        UUIDs; the selected model
//	cookies/NAME.json  for other clients: no cookies
//
// Empty files are not written, and an empty directory is removed. Writers lock the directory itself, so that no lock
// file remains. Readers need no lock.
package store
