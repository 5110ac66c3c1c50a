package doc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// TestPathsInDocumentsExist checks that each file and folder of the repository named in the documents exists.
// A path may contain * as a wildcard. Of links, doc/tools/site checks that.
func TestPathsInDocumentsExist(t *testing.T) {
	verify.Smoke(t)
	path := regexp.MustCompile("`((?:agent|apiserver|charm|cmd|doc|hooks|provider|state|worker)/[a-zA-Z0-9_./*-]+)`")
	seen := 0
	for _, document := range []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../STYLE.md", "../SECURITY.md",
		"architecture.md", "charms.md", "decisions.md", "first-change.md", "hacking.md", "lifecycles.md", "security.md", "testing.md",
		"unproven.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		// The blocks of the first change create files that don't exist yet.
		prose := regexp.MustCompile("(?s)\n```.*?\n```").ReplaceAllString(string(text), "")
		for _, m := range path.FindAllStringSubmatch(prose, -1) {
			seen++
			file := filepath.Join("..", strings.TrimSuffix(m[1], "/..."))
			if found, err := filepath.Glob(file); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", document, m[1])
			}
		}
	}
	if seen == 0 {
		t.Error("the documents name no paths")
	}
}

// TestArchitectureIsFoundByTheWords checks that the words readers search for lead to files in
// architecture.md, and that each identifier named there with a path to a Go file is in that file.
func TestArchitectureIsFoundByTheWords(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"departure", "model config", "a new cloud", "destroy", "hook order"} {
		row := regexp.MustCompile(`(?m)^\| \*\*` + word + `\*\*.*$`).FindString(string(text))
		if !regexp.MustCompile("`[a-z]+/[a-z/]+\\.go`").MatchString(row) {
			t.Errorf("architecture.md does not say where to find %q", word)
		}
		for _, m := range regexp.MustCompile("`([A-Za-z]+)` (?:in|of) `([a-z/]+\\.go)`").FindAllStringSubmatch(row, -1) {
			code, err := os.ReadFile(filepath.Join("..", m[2]))
			if err != nil || !regexp.MustCompile(`\b`+m[1]+`\b`).Match(code) {
				t.Errorf("architecture.md names %s in %s, which does not contain it: %v", m[1], m[2], err)
			}
		}
	}
}

// TestContentsOfDocuments checks that the contents list of each long document has every heading, in order.
func TestContentsOfDocuments(t *testing.T) {
	verify.Smoke(t)
	for _, document := range []string{"charms.md", "decisions.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		var parts, listed []string
		for _, m := range regexp.MustCompile(`(?m)^###? (.*)$`).FindAllStringSubmatch(string(text), -1) {
			parts = append(parts, m[1])
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:  )?- \[(.*)\]\(#.*\)$`).FindAllStringSubmatch(string(text), -1) {
			listed = append(listed, m[1])
		}
		if !slices.Equal(parts, listed) {
			t.Errorf("%s has the headings %q, but lists %q", document, parts, listed)
		}
	}
}
