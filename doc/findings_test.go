package doc_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/generated"
	"juju/doc/tools/verify"
)

var update = flag.Bool("update", false, "write the generated parts of documents anew")

// TestFindings checks that each script in findings says in its first lines what it shows, what was guessed and what was
// seen, and that the README lists it.
func TestFindings(t *testing.T) {
	verify.Smoke(t)
	scripts, err := filepath.Glob("../findings/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found no findings: %v", err)
	}
	head := regexp.MustCompile(`^#!/usr/bin/env bash\n# ([^\n]+ \d[\w.]*[^\n:]*): ([^\n]+)\n#\n# Guess: [^\n]+\n(?:#[^\n]*\n)*# Seen:  [^\n]+\n`)
	table := "| script | version | what it shows |\n|---|---|---|\n"
	for _, path := range scripts {
		name := filepath.Base(path)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable", name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := head.FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("%s does not begin with “SOFTWARE VERSION: what it shows”, “Guess:” and “Seen:”", name)
			continue
		}
		table += fmt.Sprintf("| [%s](%s) | %s | %s |\n", strings.TrimSuffix(name, ".sh"), name, m[1], m[2])
	}
	generated.Part(t, "../findings/README.md", "findings", table, *update)
}
