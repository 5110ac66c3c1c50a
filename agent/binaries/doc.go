// Package binaries keeps the binaries of a controller or a machine in directories named by the hash of
// their archive, and switches between them.
//
// A directory gets its name only when it is complete. A small file, the record, selects the current
// one, and is replaced atomically. So a process killed at any time leaves either the old or the new
// binaries. The system always starts the originally installed binary, where Enter execs the one that
// the record selects.
//
// New binaries are on trial until they confirm that they work. If they report an error or don't
// confirm within a few starts, the record reverts to the old binaries.
package binaries
