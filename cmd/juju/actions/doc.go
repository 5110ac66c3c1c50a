// Package actions implements the commands that run actions and shell commands on units, and show operations and tasks.
package actions
