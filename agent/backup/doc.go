// Package backup reads and writes the archive of a controller's backup.
//
// An archive is a tar file. Its first entry describes the controller, in JSON, its last one says how many entries there
// are, and each entry names the hash of its contents. The entries in between are the controller's.
package backup
