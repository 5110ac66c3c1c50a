package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
	"juju/doc/tools/verify"
)

// systemPython has the modules that come as packages of the system.
const systemPython = "/usr/bin/python3"

// aloneOfJubilant is run by itself: before it another test leaves constraints that only hosts with four cores meet.
const aloneOfJubilant = "test_machine.py::test_add_machine"

// TestJubilantsOwnTests runs the tests that jubilant has for itself, unmodified, with charms of ours: JUBILANT is the directory of
// its source. The system's Python must have pytest, cryptography and yaml. RECORD may name a file for the command lines, of which
// jubilant_lines.txt is made.
func TestJubilantsOwnTests(t *testing.T) {
	verify.Only(t, "needs a client as it is published")
	source := os.Getenv("JUBILANT")
	if source == "" {
		t.Skip("JUBILANT does not name the source of github.com/canonical/jubilant")
	}
	if _, err := os.Stat("/tmp/mydir"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("/tmp/mydir, which the tests make: %v, want none", err)
	}
	t.Cleanup(func() { os.RemoveAll("/tmp/mydir") })
	s := newClientSystem(t)
	dir, charms, repository := t.TempDir(), t.TempDir(), t.TempDir()
	for _, part := range []string{"jubilant", "tests"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(source, part))); err != nil {
			t.Fatal(err)
		}
	}
	clitest.Write(t, filepath.Join(dir, "pytest.ini"), "[pytest]\nmarkers = machine: of jubilant's pyproject.toml\n")
	text, err := os.ReadFile(filepath.Join("testdata", "clients", "jubilant_charms.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	writeCharms(t, charms, string(text))
	for name, to := range map[string]string{"testdb": filepath.Join(dir, "tests", "integration", "charms", "testdb"),
		"testapp": filepath.Join(dir, "tests", "integration", "charms", "testapp"),
		"ubuntu":  filepath.Join(repository, "any"), "snappass-test": filepath.Join(repository, "any")} {
		packCharm(t, filepath.Join(charms, name), filepath.Join(to, name+".charm"))
	}
	run := func(args ...string) {
		t.Helper()
		s.run(t, "", []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1", "JUJU_REPOSITORY=" + repository, "TMPDIR=" + t.TempDir()},
			append([]string{systemPython, "-m", "pytest", "-v", "--tb=short", "-p", "no:cacheprovider", "--rootdir", dir}, args...)...)
	}
	tests := filepath.Join(dir, "tests", "integration")
	all := []string{tests, "--deselect", "tests/integration/" + aloneOfJubilant}
	for _, name := range excludedOfJubilant(t, tests) {
		all = append(all, "--deselect", "tests/integration/"+name)
	}
	if file := os.Getenv("RECORD"); file != "" {
		all = append(all, "--log-file", file, "--log-file-level", "INFO", "--log-file-format", "%(message)s")
	}
	run(all...)
	run(filepath.Join(tests, aloneOfJubilant))
}

// excludedOfJubilant returns the tests in the list of those that are not run. Each must have a reason, and be there.
func excludedOfJubilant(t *testing.T, tests string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "clients", "jubilant_excluded.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
		file, test, _ := strings.Cut(name, "::")
		code, err := os.ReadFile(filepath.Join(tests, file))
		if err != nil || reason == "" || test != "" && !strings.Contains(string(code), "\ndef "+test+"(") {
			t.Errorf("excluded: %q: no such test, or no reason: %v", line, err)
		}
		all = append(all, name)
	}
	return all
}

// writeCharms writes the charms in a txtar archive below a directory. All files are executable.
func writeCharms(t *testing.T, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		file := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// packCharm writes the archive of a charm.
func packCharm(t *testing.T, dir, file string) {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	if err := errors.Join(z.AddFS(os.DirFS(dir)), z.Close()); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, file, archive.String())
}

// The command lines that jubilant has typed are of commands and flags that are there.
func TestLinesOfJubilant(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "clients", "jubilant_lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var words []string
		if err := json.Unmarshal([]byte(line), &words); err != nil {
			t.Fatal(err)
		}
		cmd, rest, err := commands.New(newUser(t).Session).Find(words)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
}
