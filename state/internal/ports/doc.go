// Package ports manages the open ports of a model's units: it opens and closes them, and determines which must be
// reachable from outside.
package ports
