// Package dummytest is a cloud in memory, for tests with up to thousands of machines. Starting
// an instance calls a function that starts an agent in this process. Tests can break methods,
// make them fail a number of times or stall, make instances refuse to stop, and make instances
// vanish. Every operation is written to a log that tests can wait on.
package dummytest
