// Package modeltxn reads and changes the database of a model. Each change is one transaction, which also
// updates the reference counts of the entities involved. It knows the documents of package modeldb but not
// the lifecycles, which are in package state. State and the sibling packages share it.
package modeltxn
