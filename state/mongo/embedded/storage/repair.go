package storage

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// setAside is the suffix of a log that a repair has replaced.
const setAside = ".damaged"

// cutLog truncates a damaged log where the damage begins, and sets aside the logs after it, because their
// contents depend on the lost ones. The original logs are kept next to them.
func cutLog(opts Options, dir string, d *Damage) error {
	fs := opts.FS
	if path.Ext(d.File) != ".log" {
		return fmt.Errorf("%w; only a write-ahead log can be repaired: restore the store from a backup", d)
	}
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names) // the numbers have leading zeros
	for _, name := range names {
		if path.Ext(name) != ".log" || len(name) < len(d.File) || len(name) == len(d.File) && name < d.File {
			continue
		}
		file, aside := fs.PathJoin(dir, name), fs.PathJoin(dir, name+setAside)
		if err := fs.Rename(file, aside); err != nil {
			return err
		}
		if name != d.File {
			opts.Logf("store: all writes in %s are discarded", name)
			continue
		}
		if err := copyBytes(fs, aside, file, d.At); err != nil {
			return err
		}
		opts.Logf("store: the writes in %s from byte %d on are discarded; %d bytes of it had reached the disk", name, d.At,
			d.Synced)
	}
	// The SYNCED file still covers the bytes that were cut off.
	if err := fs.Remove(fs.PathJoin(dir, syncedName)); err != nil {
		return err
	}
	root, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(root.Sync(), root.Close())
}

// copyBytes copies the first n bytes of a file.
func copyBytes(fs vfs.FS, from, to string, n int64) error {
	in, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(out, in, n); err != nil {
		return errors.Join(err, out.Close())
	}
	return errors.Join(out.Sync(), out.Close())
}
