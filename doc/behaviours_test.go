package doc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// Every behaviour in behaviours.txt names tests, and all of them exist.
func TestEveryBehaviourHasATest(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile("behaviours.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^([A-Z]\d+): +(.+): ([^:]+)$`)
	seen := map[string]bool{}
	for n, l := range strings.Split(string(text), "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Errorf("behaviours.txt:%d: want number: sentence: tests, got %q", n+1, l)
			continue
		}
		if seen[m[1]] {
			t.Errorf("behaviours.txt:%d: %s is used twice", n+1, m[1])
		}
		seen[m[1]] = true
		for _, test := range strings.Split(m[3], ", ") {
			if !isTest(t, test) {
				t.Errorf("behaviours.txt:%d: no test %q", n+1, test)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("behaviours.txt has no sentences")
	}
}

// isTest reports whether test names a Go test ("folder TestName") or a script.
func isTest(t *testing.T, test string) bool {
	folder, name, ok := strings.Cut(test, " ")
	if !ok {
		_, err := os.Stat(filepath.Join("..", test))
		return err == nil && strings.HasSuffix(test, ".txtar")
	}
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
