// Stress runs the tests that were added or altered since a commit again and again, beside busy loops, as on a busy machine.
// What fails once must not be in `make test`.
//
//	go run ./doc/tools/stress BASE [FLAG...]
//
// The flags are go test's.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"juju/doc/tools/testcalls"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: stress BASE [FLAG...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

func run(base string, flags []string) error {
	tests, err := altered(base)
	if err != nil {
		return err
	}
	if len(tests) == 0 {
		fmt.Println("no test was added or altered since", base)
		return nil
	}
	var over atomic.Bool
	defer over.Store(true)
	for range 2 {
		go func() {
			for !over.Load() {
			}
		}()
	}
	var failed []string
	for _, dir := range slices.Sorted(maps.Keys(tests)) {
		pattern := "^(" + strings.Join(tests[dir], "|") + ")$"
		fmt.Println(dir, pattern)
		cmd := exec.Command("go", slices.Concat([]string{"test"}, flags, []string{"-run", pattern, "./" + dir})...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			failed = append(failed, dir)
		}
	}
	if len(failed) > 0 {
		return errors.New("tests failed in " + strings.Join(failed, ", ") +
			": mend them, or have them call verify.Only with the reason")
	}
	return nil
}

// altered returns the tests that have changed since a commit, by folder. A script is changed if its file is.
func altered(base string) (map[string][]string, error) {
	out, err := exec.Command("git", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--diff-filter=d", base, "--",
		"*_test.go", "*.txtar").Output()
	if err != nil {
		return nil, fmt.Errorf("git diff %s: %w", base, err)
	}
	tests := map[string][]string{}
	for file, lines := range changedLines(string(out)) {
		dir, names := path.Dir(file), []string(nil)
		if strings.HasSuffix(file, ".txtar") {
			if strings.HasPrefix(file, "cmd/juju/testdata/landing/") {
				dir, names = "cmd/juju", []string{"TestLanding"}
			}
		} else if names, err = testsAt(file, lines); err != nil {
			return nil, err
		}
		if len(names) > 0 {
			tests[dir] = append(tests[dir], names...)
		}
	}
	for dir := range tests {
		slices.Sort(tests[dir])
		tests[dir] = slices.Compact(tests[dir])
	}
	return tests, nil
}

// A span is a range of lines.
type span struct{ first, last int }

// changedLines returns the changed lines of the files in a diff, as they are now.
func changedLines(diff string) map[string][]span {
	hunk := regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)
	changed := map[string][]span{}
	file := ""
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = strings.TrimSpace(name)
		} else if m := hunk.FindStringSubmatch(line); m != nil {
			first, _ := strconv.Atoi(m[1])
			count, _ := strconv.Atoi(cmp.Or(m[2], "1"))
			changed[file] = append(changed[file], span{first, first + max(count, 1) - 1})
		}
	}
	return changed
}

// testsAt returns the tests of a file that have one of the lines.
func testsAt(file string, lines []span) (names []string, err error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !testcalls.IsTest(f.Name.Name) {
			continue
		}
		first, last := files.Position(f.Pos()).Line, files.Position(f.End()).Line
		if slices.ContainsFunc(lines, func(s span) bool { return s.first <= last && first <= s.last }) {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
