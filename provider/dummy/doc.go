// Package dummy is a cloud in memory, for tests and for runs with thousands of
// machines. Starting an instance calls a function that starts an agent in this
// process. Its faults come on demand: methods that are broken, fail a number of
// times or stall, instances that can't be stopped, and instances that vanish. All that is done to it is written
// to a log that tests can wait on.
package dummy
