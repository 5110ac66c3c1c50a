// Package durable writes small files so that they are there, whole and new or whole
// and old, whatever happens.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile gives path the content and returns when it would survive a power loss.
// A crash at any moment leaves the content of before or the new one; nobody but the
// user may read it. The file that it goes through is path with ".new" after it, so
// path has one writer.
func WriteFile(path string, content []byte) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes durable which names the directory holds.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
