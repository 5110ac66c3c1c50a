package controller

import (
	"os"
	"path/filepath"
	"testing"
)

// A controller's last words begin a line, even after a line that a full disk has cut.
func TestAControllersLastWordsBeginALine(t *testing.T) {
	for text, want := range map[string]bool{"": false, "a\n": false, "a\nb": true} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := hasOpenLine(f); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if hasOpenLine(w) {
		t.Error("a pipe has an open line")
	}
}
