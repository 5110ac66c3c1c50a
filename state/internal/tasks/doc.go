// Package tasks has the tasks of a model: actions of its units, and commands that run there or on its machines. Users
// enqueue them, and the agents of their receivers run them.
package tasks
