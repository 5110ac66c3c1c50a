// Package charm reads charms and judges them.
//
// A charm is a directory, or a zip archive of one, that tells how to run a
// service: metadata.yaml says what it is and what it relates to, config.yaml
// which settings it takes, actions.yaml which actions it offers, and hooks/
// holds the executables that do the work.
//
//	dir, err := charm.ReadDir("charms/wordpress") // parsed and valid, or an error
//	err = dir.ArchiveTo(w)                        // the same tree, the same bytes
//	a, err := charm.ReadArchive(ctx, "wordpress.zip") // hostile archives are refused here
//	err = a.ExpandTo(ctx, "/some/agent/charm")
//
// What a charm's author got wrong is reported as a *FileError, which names the
// file, the line and the field; every error about a broken rule, wherever it was
// found, answers to errors.Is(err, ErrInvalid). Other errors are the disk's.
//
// Settings of a service are plain values: string, int64, float64, bool, or nil
// for "not set". Config turns what users write into them, all or nothing.
//
// The package is a leaf: it does no logging, keeps no state, and knows nothing
// of machines or units.
package charm
