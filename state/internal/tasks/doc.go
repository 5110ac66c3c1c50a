// Package tasks manages the tasks of a model: actions of its units, and commands that run on units or machines. Users
// enqueue them, and the agents of their receivers run them.
package tasks
