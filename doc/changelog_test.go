package doc_test

import (
	"os"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// TestChangelogNamesEachChangeOnce checks that no entry is there twice, as one is when a merge has kept both sides.
func TestChangelogNamesEachChangeOnce(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if entry, ok := strings.CutPrefix(line, "- "); ok && seen[entry] {
			t.Errorf("CHANGELOG.md:%d is there twice: %s", i+1, entry)
		} else if ok {
			seen[entry] = true
		}
	}
	if len(seen) == 0 {
		t.Error("CHANGELOG.md has no entries")
	}
}
