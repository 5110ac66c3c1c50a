// Package modeltxn reads the database of a model, and changes it: each change is one transaction, which keeps the
// counts of the entities that it concerns. It knows the documents of package modeldb but not the lifecycles,
// which are in package state. State and the sibling packages share it.
package modeltxn
