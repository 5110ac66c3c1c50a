// Package limits defines the limits on what the controller accepts and stores, and checks values of
// package entity against them.
//
// It is separate so that entity stays a vocabulary. Code that checks, cuts or repairs values before they
// are stored or sent imports this package.
package limits
