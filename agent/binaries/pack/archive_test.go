package pack

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The archive holds the binaries, and the same binaries always make the same one, so that machines
// find again what they have.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	for _, name := range Names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("I am "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var first, second, all bytes.Buffer
	some := Names[1:]
	for b, names := range map[*bytes.Buffer][]string{&first: some, &second: some, &all: Names} {
		if sum, err := WriteArchive(b, dir, names...); err != nil || sum != fmt.Sprintf("%x", sha256.Sum256(b.Bytes())) {
			t.Fatalf("the archive has the SHA-256 %s, %v", sum, err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same binaries result in two archives")
	}
	for what, b := range map[string]*bytes.Buffer{"hook-tool machine-agent unit-agent": &first,
		"hook-tool jujud machine-agent unit-agent": &all} {
		to := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "tar", "-xz", "-C", to)
		cmd.Stdin = b
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		entries, err := os.ReadDir(to)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
			info, err := e.Info()
			if err != nil || info.Mode().Perm()&0o111 == 0 {
				t.Errorf("%s is no program: %v (%v)", e.Name(), info.Mode(), err)
			}
			if text, err := os.ReadFile(filepath.Join(to, e.Name())); string(text) != "I am "+e.Name() {
				t.Errorf("%s holds %q (%v)", e.Name(), text, err)
			}
		}
		if got := strings.Join(names, " "); got != what {
			t.Errorf("got %s, want %s", got, what)
		}
	}
	if _, err := WriteArchive(&all, dir, "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v for a program that is not there", err)
	}
}
