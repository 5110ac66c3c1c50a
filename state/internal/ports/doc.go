// Package ports has the open ports of a model's units: what opens and closes them, and which are to be reached from
// outside.
package ports
