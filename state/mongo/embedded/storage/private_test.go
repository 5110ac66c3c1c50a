package storage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"juju/state/mongo/embedded/storage"
)

// A copy of a store's directory can be read only by its owner, also if an older version made the store.
func TestOnlyTheOwnerCanReadAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for range 2 {
		s, err := storage.Open(dir, storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %v", path, info.Mode())
			}
			files++
			return err
		})
		if err != nil || files < 4 {
			t.Errorf("%d files: %v", files, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.Chmod(filepath.Join(dir, e.Name()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
