// Package atomicfile writes files that survive crashes: a reader finds the old content or the
// new one, never a part.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile makes or replaces the file at path, for those whom mode lets use it, and returns when
// that would survive a power loss. After a crash the file has the old content or the new one.
// Several processes may write the same file.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	return WriteFunc(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFunc is WriteFile for the content that write writes. If write fails, the file stays as it was.
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

// draftPrefix is how the names begin under which a file is written at first. They are hidden, and no one else's: the
// directory may be one that programs read all of, and in which users keep files.
func draftPrefix(name string) string { return "." + name + ".juju-draft-" }

// Drafts is a pattern, for the shell too, of the files that crashes of writers of the file at path leave. The path has no
// character that is special in one.
func Drafts(path string) string {
	dir, name := filepath.Split(path)
	return dir + draftPrefix(name) + "*"
}

// RemoveDrafts removes what crashes of writers of the file at path have left. No one may be writing it.
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

// SyncDir syncs a directory, so that its entries survive a power loss.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
