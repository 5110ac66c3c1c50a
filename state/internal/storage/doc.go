// Package storage gives the units of a model storage, and keeps what the cloud has made of it. What happens to storage when
// something is destroyed is in package state, with the other lifecycles.
package storage
