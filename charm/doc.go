// Package charm reads and checks charms.
//
// A charm is a directory, or a zip archive of one, that describes how to run a service:
// metadata.yaml says what it is and what it relates to, config.yaml which settings it has,
// actions.yaml which actions it offers, and hooks/ holds the executables that do the work.
//
//	dir, err := charm.ReadDir("charms/wordpress") // parsed and valid, or an error
//	err = dir.ArchiveTo(w)                        // the same tree, the same bytes
//	a, err := charm.ReadArchive(ctx, "wordpress.zip") // hostile archives are refused here
//	err = a.ExpandTo(ctx, "/some/agent/charm")
//
// A mistake of the charm's author is reported as a *FileError, which names the file, the line
// and the field. For every error about a broken rule, errors.Is(err, ErrInvalid) holds. All
// other errors come from the disk.
//
// A service's settings are plain values: string, int64, float64, bool, or nil for "not set".
// Config converts what users write into them, all or nothing.
//
// The package is a leaf: it does not log, keeps no state, and knows nothing of machines or
// units.
package charm
