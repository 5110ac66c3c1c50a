package storage

import (
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A private file system is the host's, but what it creates only its owner can read: the store has keys and hashes of passwords,
// and a copy of its directory keeps the modes.
type private struct{ vfs.FS }

const (
	privateDir  = 0o700
	privateFile = 0o600
)

func (p private) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return p.file(name)(p.FS.Create(name, category))
}

func (p private) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.file(name)(p.FS.OpenReadWrite(name, category, opts...))
}

func (p private) Lock(name string) (io.Closer, error) {
	lock, err := p.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, privateFile); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// file returns what makes a file private that was opened to write.
func (private) file(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		if err := os.Chmod(name, privateFile); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}

func (p private) MkdirAll(dir string, _ os.FileMode) error { return p.FS.MkdirAll(dir, privateDir) }

func (p private) Unwrap() vfs.FS { return p.FS }

// claim makes the directory of a store private, and what an older version has left in it.
func (p private) claim(dir string) error {
	if err := p.MkdirAll(dir, privateDir); err != nil {
		return err
	}
	if err := os.Chmod(dir, privateDir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil && e.Type().IsRegular() {
			err = os.Chmod(filepath.Join(dir, e.Name()), privateFile)
		}
	}
	return err
}
