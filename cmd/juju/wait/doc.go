// Package wait waits until entities of a model have a status or are removed. It reads the model when its status changes.
package wait
