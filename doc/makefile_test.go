package doc_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// TestMakefileNamesTests checks that the tests named in the Makefile, and in the scripts that it calls, exist: a renamed test
// would silently drop out of its target.
func TestMakefileNamesTests(t *testing.T) {
	verify.Smoke(t)
	all := testNames(t)
	for _, file := range []string{"../Makefile", "tools/verify.sh", "tools/soak.sh", "tools/docs.sh"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no tests", file)
		}
		for _, name := range names {
			if !all[name] {
				t.Errorf("%s names %s, which is not a test", file, name)
			}
		}
	}
}

// TestMakefileListsTargets checks that make help is aligned in two columns and lists every
// public target.
func TestMakefileListsTargets(t *testing.T) {
	verify.Smoke(t)
	out, err := exec.Command("make", "--no-print-directory", "-C", "..", "help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	column := strings.Index(lines[0], "list the targets")
	for _, line := range lines {
		if column < 0 || len(line) <= column || line[column-1] != ' ' || line[column] == ' ' {
			t.Errorf("make help is not aligned at column %d: %q", column, line)
		}
	}
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):.* ## `).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(string(out), "\n  "+m[1]+" ") && !strings.HasPrefix(string(out), "  "+m[1]+" ") {
			t.Errorf("make help does not list %s", m[1])
		}
	}
}

// testNames returns the names of all test functions in the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
