// Package atomicfile writes small files that survive crashes: a reader finds the old content
// or the new one, never a part.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces the content of the file at path and returns when it would survive a
// power loss. After a crash the file has the old content or the new one. Only the user may
// read it. There must be one writer per path, since the content goes through Draft(path).
func WriteFile(path string, content []byte) error { return WriteFileFor(path, content, 0o600) }

// WriteFileFor is WriteFile for a file that others may use as mode says.
func WriteFileFor(path string, content []byte, mode fs.FileMode) error {
	next := Draft(path)
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(mode); err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Draft returns where WriteFile writes the new content at first, and may leave it in a crash. The name is hidden,
// and no one else's: the directory may be one that programs read all of, and in which users keep files.
func Draft(path string) string {
	dir, name := filepath.Split(path)
	return dir + "." + name + ".juju-draft"
}

// SyncDir syncs a directory, so that its entries survive a power loss.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
