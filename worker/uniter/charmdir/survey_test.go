package charmdir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file is overwritten as fast as possible with content of the same size. Every change is detected, however coarse the
// file system's timestamps are.
func TestQuickChangesAreDetected(t *testing.T) {
	h, d := newHistory(t)
	var want []string
	for i := range 20 {
		content := fmt.Sprintf("%02d", i)
		f, err := os.OpenFile(filepath.Join(d.Path, "state"), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(content); err != nil {
			t.Fatal(err)
		}
		f.Close()
		h.mustRecord(t, "hook")
		want = append(want, "hook: state="+content)
	}
	h.expect(t, want...)
}

func TestHistoryOfModesAndLinks(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "a", "a")
	d.write(t, "b", "b")
	h.mustRecord(t, "one")
	if err := os.Chmod(filepath.Join(d.Path, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "executable")
	if err := os.Remove(filepath.Join(d.Path, "b")); err != nil {
		t.Fatal(err)
	}
	d.write(t, "b/c", "c")
	h.mustRecord(t, "directory")
	if err := os.RemoveAll(filepath.Join(d.Path, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(d.Path, "b")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "link")
	if err := os.Chtimes(filepath.Join(d.Path, "a"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "touched only")
	h.expect(t, "one: a=a b=b", "executable: a=a b=b", "directory: a=a b/c=c", "link: a=a b=a")
	h.wantWhole(t)
}

func TestHistoryLeavesOutSpecialAndLargeFiles(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "kept", "x")
	d.write(t, ".gitignore", "*")
	d.write(t, "lib/.git/config", "a clone's")
	d.write(t, "lib/code", "y")
	d.write(t, "submodule/.git", "gitdir: elsewhere")
	if err := unix.Mkfifo(filepath.Join(d.Path, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(d.Path, "socket")}); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(d.Path, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(maxTracked + 1); err != nil {
		t.Fatal(err)
	}
	big.Close()
	if os.Getuid() != 0 { // root may read all
		d.write(t, "secret", "z")
		if err := os.Chmod(filepath.Join(d.Path, "secret"), 0); err != nil {
			t.Fatal(err)
		}
	}
	h.mustRecord(t, "hook")
	h.expect(t, "hook: .gitignore=* kept=x lib/code=y")
}

func TestHistoryOfAnEmptyDirectory(t *testing.T) {
	h, d := newHistory(t)
	h.mustRecord(t, "hook")
	h.expect(t)
	d.write(t, "a", "a")
	h.mustRecord(t, "hook")
	if err := os.Remove(filepath.Join(d.Path, "a")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "emptied")
	h.expect(t, "hook: a=a", "emptied:")
}
