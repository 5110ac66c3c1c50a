// Package modelstatus reads a model's status for users and charms: the full status, the status history, the storage,
// and the goal state of a unit.
package modelstatus
