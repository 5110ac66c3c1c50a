// Package wait waits until a model is as a user wants it: until entities have a status, or are gone. It reads the model
// when its status changes.
package wait
