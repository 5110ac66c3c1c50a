// Package bsontest generates random BSON values for tests: values of all types, nested, and often extreme or
// nearly equal to one another.
package bsontest
