package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// files lists a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, content := range []string{"one", "two", ""} {
		if err := WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v; want %q", got, err, content)
		}
	}
	if got := files(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("%q are left, want one file", got)
	}
}

// A file is for whom its mode says, whatever the umask and the old file's mode are.
func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, want := range []fs.FileMode{0o600, 0o666, 0o600} {
		if err := WriteFile(path, []byte("secret"), want); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode is %v, %v, want %v", info.Mode(), err, want)
		}
	}
}

func TestFailedWriteLeavesTheOldContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	err := WriteFunc(path, 0o600, func(w io.Writer) error {
		_, err := w.Write([]byte("half of something"))
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("content is %q", got)
	}
	if err := WriteFile(filepath.Dir(path), nil, 0o600); err == nil {
		t.Error("replaced a directory")
	}
	if got := files(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("%q are left, want one file", got)
	}
	if err := WriteFile(filepath.Join(path, "no", "directory"), nil, 0o600); err == nil {
		t.Error("no error where there is no directory")
	}
}

// Of several writers one wins, and its content is whole.
func TestSeveralWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	contents := [][]byte{bytes.Repeat([]byte("a"), 100), bytes.Repeat([]byte("b"), 200), bytes.Repeat([]byte("c"), 300)}
	var all sync.WaitGroup
	for _, content := range contents {
		all.Go(func() {
			for range 20 {
				if err := WriteFile(path, content, 0o600); err != nil {
					t.Error(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got) }) {
					t.Errorf("content is %q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
}

// What a crash has left can be found and removed, and nothing else is taken for it.
func TestDrafts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	var left string
	err := WriteFunc(path, 0o600, func(w io.Writer) error {
		left = w.(*os.File).Name()
		found, err := filepath.Glob(Drafts(path))
		if err != nil || !slices.Equal(found, []string{left}) {
			t.Errorf("drafts are %q, %v, want %s", found, err, left)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{left, path + ".new", filepath.Join(dir, ".states.juju-draft-1")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveDrafts(path); err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, dir), []string{".states.juju-draft-1", "state", "state.new"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
	if err := RemoveDrafts(filepath.Join(dir, "none", "state")); err != nil {
		t.Errorf("where there is no directory: %v", err)
	}
}
