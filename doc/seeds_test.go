package doc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every sentence of the specification has a test, and every test that seeds.txt names
// exists.
func TestTheSpecificationIsTested(t *testing.T) {
	text, err := os.ReadFile("seeds.txt")
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
			t.Errorf("seeds.txt:%d: not as the head of the file says: %q", n+1, l)
			continue
		}
		if seen[m[1]] {
			t.Errorf("seeds.txt:%d: %s stands twice", n+1, m[1])
		}
		seen[m[1]] = true
		for _, test := range strings.Split(m[3], ", ") {
			if !isTest(t, test) {
				t.Errorf("seeds.txt:%d: there is no test %q", n+1, test)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("seeds.txt says nothing")
	}
}

// isTest reports whether there is a test "folder TestName", or a script.
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
