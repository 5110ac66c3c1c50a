package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readDocument(t *testing.T, path string) string {
	t.Helper()
	content, err := OpenDocument(path).Read()
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func size(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}

// Contents of all sizes replace each other, with and without a restart between.
func TestDocumentHasWhatWasWrittenLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if _, err := OpenDocument(path).Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	d := OpenDocument(path)
	for i, n := range []int{10, 20, 4000, 3, 0, 5000, 4999, 100_000, 90_000, 100, 50, 1_000_000, 7, 7, 8} {
		content := strings.Repeat(string(rune('a'+i)), n)
		if i%4 == 3 {
			d = OpenDocument(path)
			if _, err := d.Read(); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if got := readDocument(t, path); got != content {
			t.Fatalf("after content %d of %d bytes: read %d bytes, %.20q", i, n, len(got), got)
		}
	}
	if got := size(t, path); got > 4*slotUnit {
		t.Errorf("a few bytes take a file of %d", got)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left, want one", len(entries))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
}

// A power loss during a write leaves any of the sectors that the write was to replace as they were, or
// in ruins. The content is then the old one or the new one.
func TestDocumentSurvivesATornWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d := OpenDocument(path)
	old := strings.Repeat("first\n", 400)
	if err := d.Write([]byte(old)); err != nil {
		t.Fatal(err)
	}
	for round := range 200 {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content := strings.Repeat(strings.Repeat("x", round%7+1)+"\n", 300+rand.IntN(200))
		if err := d.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(after) != len(before) {
			t.Fatal("the file was written anew, so this proves nothing")
		}
		const sector = 512
		torn := bytes.Clone(after)
		whole := true
		for at := 0; at < len(after); at += sector {
			part := torn[at : at+sector]
			if bytes.Equal(part, before[at:at+sector]) {
				continue
			}
			switch rand.IntN(4) {
			case 0:
				copy(part, before[at:])
				whole = false
			case 1:
				clear(part)
				whole = false
			}
		}
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		d = OpenDocument(path)
		got, err := d.Read()
		if err != nil || string(got) != content && string(got) != old || whole && string(got) != content {
			t.Fatalf("round %d: read %d bytes, %v; before it were %d, written %d", round, len(got), err, len(old), len(content))
		}
		old = string(got)
	}
}

// A write that fails half way leaves the content, whatever the next write does.
func TestDocumentSurvivesAFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d := OpenDocument(path)
	for _, content := range []string{"one", "two"} {
		if err := d.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Write([]byte("three")); err == nil {
		t.Error("no error for a directory")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if got := readDocument(t, path); got != "two" {
		t.Errorf("read %q", got)
	}
	if err := d.Write([]byte("four")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("two")) || readDocument(t, path) != "four" {
		t.Errorf("the content before the last is gone, %v:\n%.300q", err, text)
	}
}

// If neither slot is valid, the file is damaged: it is not taken for an empty one.
func TestDocumentReturnsADamagedFileWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := OpenDocument(path).Write([]byte("one")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(text, []byte("one"), []byte("two"), 1)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readDocument(t, path); got != string(damaged) {
		t.Errorf("read %d bytes, %.50q", len(got), got)
	}
}
