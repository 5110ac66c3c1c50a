// Package entity is the vocabulary that every other package shares: the kinds
// of things an operator works with and their tags, the three lives, statuses,
// the kinds of errors, and the plain values that travel between state, the API
// and the agents.
//
// It is a leaf. It holds no behaviour beyond parsing, formatting and comparing,
// and it imports nothing of this module, so that workers and the wire can speak
// of a unit without importing the state that stores it.
package entity
