// Package modelstatus says how a model is, for users and charms: its status and their history, the storage, and the
// goal state of a unit. It only reads.
package modelstatus
