package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	// What a crash during an earlier write has left does no harm.
	if err := os.WriteFile(Draft(path), []byte("half of something longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"one", "two", ""} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v; want %q", got, err, content)
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("%d files are left, want one", len(entries))
	}
}

// A file is private, unless it is for others, whatever a crash has left and the umask is.
func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	check := func(err error, want fs.FileMode) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode is %v, %v, want %v", info.Mode(), err, want)
		}
	}
	check(WriteFile(path, []byte("secret")), 0o600)
	check(WriteFileFor(path, []byte("told"), 0o666), 0o666)
	if err := os.WriteFile(Draft(path), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check(WriteFile(path, []byte("secret")), 0o600)
}

func TestFailedWriteLeavesTheOldContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(Draft(path), 0o755); err != nil { // nothing can be written there
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err == nil {
		t.Error("no error")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("content is %q", got)
	}
	if err := WriteFile(filepath.Join(path, "no", "directory"), nil); err == nil {
		t.Error("no error where there is no directory")
	}
}
