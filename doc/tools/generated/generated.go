// Package generated compares the parts of documents that are generated from code with the code, for tests.
package generated

import (
	"os"
	"strings"
	"testing"
)

// Part fails the test unless a document has the text between the lines <!-- generated: NAME --> and <!-- end -->. With
// update, it writes the text there.
func Part(t *testing.T, path, name, text string, update bool) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
	head, rest, begins := strings.Cut(string(was), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no part %q", path, name)
	}
	now := head + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + tail
	switch {
	case now == string(was):
	case !update:
		t.Errorf("%s is not up to date: run make docs, or go test . -run %s -update", path, t.Name())
	default:
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
