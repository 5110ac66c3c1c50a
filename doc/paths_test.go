package doc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPathsInDocumentsExist: what the documents call a file or a folder of the repository is one. A
// path may have a * for any text.
func TestPathsInDocumentsExist(t *testing.T) {
	path := regexp.MustCompile("`((?:agent|apiserver|charm|cmd|doc|hooks|provider|state|worker)/[a-zA-Z0-9_./*-]+)`|" +
		`\]\(([a-zA-Z.][a-zA-Z0-9_./-]*)\)`)
	seen := 0
	for _, document := range []string{"../README.md", "../CHANGELOG.md", "architecture.md", "charms.md", "hacking.md",
		"lifecycles.md",
		"security.md", "unproven.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		// hacking.md's first change makes files that are not there yet, in blocks.
		prose := regexp.MustCompile("(?s)\n```.*?\n```").ReplaceAllString(string(text), "")
		for _, m := range path.FindAllStringSubmatch(prose, -1) {
			seen++
			file := filepath.Join("..", strings.TrimSuffix(m[1], "/..."))
			if m[2] != "" {
				file = filepath.Join(filepath.Dir(document), m[2])
			}
			if found, err := filepath.Glob(file); err != nil || len(found) == 0 {
				t.Errorf("%s names %s%s, which does not exist", document, m[1], m[2])
			}
		}
	}
	if seen == 0 {
		t.Error("the documents name no path")
	}
}
