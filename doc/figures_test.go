package doc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// The last column of the first table in figures.md names a benchmark and its package, which must
// exist.
func TestFiguresNameBenchmarks(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile("figures.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	rows := regexp.MustCompile(`(?m)\| ([^|]*) \|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 2 {
		t.Fatal("figures.md has no table")
	}
	for _, row := range rows[1:] { // skip the heading
		name, folder, ok := strings.Cut(strings.Trim(row[1], "`"), " ./")
		files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
		if !ok || err != nil || len(files) == 0 {
			t.Errorf("figures.md: %s is not a benchmark and a package", row[1])
			continue
		}
		found := false
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(source), "\nfunc Benchmark"+name+"(")
		}
		if !found {
			t.Errorf("figures.md: ./%s has no Benchmark%s", folder, name)
		}
	}
}
