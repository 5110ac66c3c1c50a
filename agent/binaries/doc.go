// Package binaries keeps the binaries of a controller or a machine in directories named by the hash
// of the archive that they came in, and switches from one to another.
//
// A directory is complete from the moment that it has its name. One small file, the record, says
// which one counts; it is replaced as a whole. So a process that is killed at any moment leaves the
// old binaries or the new ones. The program that the system starts stays what it was when it was
// installed: Enter replaces it by the one that the record names.
//
// New binaries are on trial until they confirm that they work. If they do not after a few starts, or
// say why they can't, the old ones count again.
package binaries
