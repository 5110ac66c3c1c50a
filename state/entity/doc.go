// Package entity is the vocabulary that all other packages share: the kinds of entities and their
// tags, the stages of their lives, statuses, the kinds of errors, and the plain values that
// travel between state, the API and the agents.
//
// It is a leaf: it only parses, formats and compares, and imports nothing from this module, so that
// workers and the wire can refer to a unit without importing the state that stores it.
package entity
