// Package modeltxn reads the database of a model, and changes it: each change is one transaction, which keeps the
// counts of the entities that it concerns. It knows the documents of package modeldb, and not which lives follow
// each other; that is package state's. State and the packages beside this one share it.
package modeltxn
