// Package actions has the commands that run actions and commands on units, and show their operations and tasks.
package actions
