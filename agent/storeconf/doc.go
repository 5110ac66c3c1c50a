// Package storeconf reads and writes mongo.conf, the file that says in which MongoDB a controller's store is. A controller
// has it in its own directory, and the client that created a controller elsewhere a copy, so that it can remove the
// databases when the controller is gone.
package storeconf
