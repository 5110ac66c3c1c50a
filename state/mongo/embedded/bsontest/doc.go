// Package bsontest generates random BSON values for tests: of all types, nested, and often
// extreme or nearly equal to others.
package bsontest
