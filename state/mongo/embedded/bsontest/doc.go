// Package bsontest makes up BSON values for tests: of all types, nested, and
// with a liking for edges and for values that nearly equal others.
package bsontest
