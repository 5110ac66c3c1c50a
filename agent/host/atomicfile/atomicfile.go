// Package atomicfile writes files atomically and durably: after a crash a file has either the old or the new
// content.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile creates or replaces the file at path, with the given mode. When it returns, the file survives a power
// failure. After a crash the file has either the old or the new content. Several processes may write the same
// file.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	return WriteFunc(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFunc is WriteFile with the content written by write. If write fails, the file is unchanged.
func WriteFunc(path string, mode fs.FileMode, write func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	draft, err := os.CreateTemp(filepath.Clean(dir), draftPrefix(name)+"*")
	if err != nil {
		return err
	}
	if err = draft.Chmod(mode); err == nil {
		err = write(draft)
	}
	if err == nil {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// draftPrefix returns the name prefix of a file's drafts, the temporary files that are renamed to it. The
// names are hidden and unmistakable, because programs may read all files in the directory, and users may keep
// files there.
func draftPrefix(name string) string { return "." + name + ".juju-draft-" }

// Drafts returns a glob pattern, valid in a shell too, that matches the drafts that crashes leave. The path
// must not have special characters.
func Drafts(path string) string {
	dir, name := filepath.Split(path)
	return dir + draftPrefix(name) + "*"
}

// RemoveDrafts removes the drafts that crashes have left of the file at path. The file must not be written
// concurrently.
func RemoveDrafts(path string) error {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), draftPrefix(name)) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// SyncDir syncs a directory, so that its entries survive a power failure.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
