// Package storage has the commands about storage and its pools.
package storage
