// Package limits has the limits of what the controller accepts and stores, and the checks of the
// values of package entity that apply them.
//
// It is its own package so that entity stays a vocabulary. Whoever checks, cuts or repairs a value
// before it is stored or sent imports this one.
package limits
