// Package storage implements the commands that manage storage and its pools.
package storage
