// Package charm reads and checks charms.
//
// A charm is a directory, or a zip archive of one, that describes how to run a service:
// metadata.yaml says what it is and what it relates to, config.yaml which settings it has,
// actions.yaml which actions it offers, and hooks/ holds the executables that do the work.
//
//	dir, err := charm.ReadDir("charms/wordpress") // parsed and valid, or an error
//	err = dir.ArchiveTo(w)                        // the same tree, the same bytes
//	a, err := charm.ReadArchive(ctx, "wordpress.zip") // rejects malicious archives
//	err = a.ExpandTo(ctx, "/some/agent/charm")
//
// Mistakes in a charm's files are reported as a *FileError with the file, line and field. All
// validation errors match ErrInvalid with errors.Is. All other errors are I/O errors.
//
// A service's settings are plain values: string, int64, float64, bool, or nil for "not set".
// Config converts user input to such values, all or nothing.
//
// The package does not log, keeps no state, and does not know machines or units.
package charm
