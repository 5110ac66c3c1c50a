// Package walkthrough_test follows the first change described in first-change.md.
package walkthrough_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"juju/doc/tools/fenced"
)

// TestWalkThrough makes the changes of first-change.md in a copy of the tree and runs its commands, as a reader
// would. In short mode it only makes the changes.
func TestWalkThrough(t *testing.T) {
	text, err := os.ReadFile("../../first-change.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := fenced.Blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	copyTree(t, root)
	files, commands := 0, 0
	for _, b := range blocks {
		if b.Kind == "sh" {
			commands++
			if !testing.Short() {
				runLines(t, root, b)
			}
			continue
		}
		files++
		if err := apply(root, b); err != nil {
			t.Fatalf("first-change.md:%d: %v", b.Line, err)
		}
	}
	if files == 0 || commands == 0 {
		t.Fatalf("first-change.md has %d files and %d blocks of commands", files, commands)
	}
}

// apply writes the block's file below root, or applies the diff to it.
func apply(root string, b fenced.Block) error {
	path := filepath.Join(root, b.Path)
	if b.Kind != "diff" {
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s already exists", b.Path)
		}
		return os.WriteFile(path, []byte(b.Text), 0o666)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var before, after strings.Builder
	for line := range strings.Lines(b.Text) {
		mark, rest := line[0], line[1:]
		if _, partial, ok := strings.Cut(rest, "\t…"); ok {
			rest = partial // only the end of the line is shown
		}
		switch mark {
		case '-':
			before.WriteString(rest)
		case '+':
			after.WriteString(rest)
		case ' ':
			before.WriteString(rest)
			after.WriteString(rest)
		default:
			return fmt.Errorf("a line of the diff begins with %q", mark)
		}
	}
	// If only the beginning of the last line is shown, it ends with "…".
	from, to := strings.TrimSuffix(before.String(), "…\n"), strings.TrimSuffix(after.String(), "…\n")
	if n := strings.Count(string(text), from); n != 1 {
		return fmt.Errorf("%s contains %d times what the diff changes, want once", b.Path, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o666)
}

// copyTree copies the module's sources.
func copyTree(t *testing.T, to string) {
	t.Helper()
	from := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel := strings.TrimPrefix(path, from+string(filepath.Separator))
		switch {
		case strings.HasPrefix(e.Name(), "."), e.IsDir() && e.Name() == "bin":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// runLines runs a block's commands in dir. A go test that matches no test is an error.
func runLines(t *testing.T, dir string, b fenced.Block) {
	t.Helper()
	for line := range strings.Lines(b.Text) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		// These are the Makefile's flags, so the copy shares the build cache; vet has its own target.
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -vet=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no tests to run") {
			t.Fatalf("first-change.md:%d: %s%v\n%s", b.Line, line, err, out)
		}
	}
}
