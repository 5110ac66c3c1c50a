package doc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// A requirement is a requirement in go.mod.
type requirement struct {
	Path     string
	Indirect bool
}

// untidy returns what `go mod tidy` would change in these requirements. imported has the modules
// that the module's packages and tests import; unneeded has those that no package needs.
func untidy(requirements []requirement, imported, unneeded map[string]bool) []string {
	var wrong []string
	required := map[string]bool{}
	for _, r := range requirements {
		required[r.Path] = true
		switch {
		case unneeded[r.Path]:
			wrong = append(wrong, r.Path+" is not needed")
		case r.Indirect && imported[r.Path]:
			wrong = append(wrong, r.Path+" is imported, but marked as indirect")
		case !r.Indirect && !imported[r.Path]:
			wrong = append(wrong, r.Path+" is not imported, but not marked as indirect")
		}
	}
	for path := range imported {
		if !required[path] {
			wrong = append(wrong, path+" is imported, but not required")
		}
	}
	return wrong
}

// TestGoModIsTidy does not call `go mod tidy -diff`, which downloads 100 MB for the tests of
// dependencies.
func TestGoModIsTidy(t *testing.T) {
	verify.Smoke(t)
	// go test reruns a cached test if a file it read has changed, but does not track the files
	// that the go command reads.
	if _, err := os.ReadFile("../go.mod"); err != nil {
		t.Fatal(err)
	}
	var mod struct{ Require []requirement }
	if err := json.Unmarshal(goRun(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	unneeded := map[string]bool{}
	why := []string{"mod", "why", "-m", "-vendor"} // -vendor omits the tests of dependencies
	for _, r := range mod.Require {
		why = append(why, r.Path)
	}
	for line := range strings.Lines(string(goRun(t, why...))) {
		if path, ok := strings.CutPrefix(line, "(main module does not need to vendor module "); ok {
			unneeded[strings.TrimSuffix(path, ")\n")] = true
		}
	}
	for _, w := range untidy(mod.Require, importedModules(t), unneeded) {
		t.Errorf("go.mod: %s; run go mod tidy", w)
	}

	planted := []requirement{{"unneeded", true}, {"imported", true}, {"not/imported", false}}
	imported := map[string]bool{"imported": true, "not/required": true}
	if wrong := untidy(planted, imported, map[string]bool{"unneeded": true}); len(wrong) != 4 {
		t.Errorf("planted 4 faults, found %q", wrong)
	}
}

// importedModules returns the modules of the packages imported by the module's packages and
// tests.
func importedModules(t *testing.T) map[string]bool {
	t.Helper()
	var ours []string
	of := map[string]listed{}
	for _, p := range load(t) {
		of[p.ImportPath] = p
		if p.Module.Main {
			ours = append(ours, p.Imports...)
		}
	}
	imported := map[string]bool{}
	for _, path := range ours {
		if m := of[path].Module; m.Path != "" && !m.Main {
			imported[m.Path] = true
		}
	}
	return imported
}

// goRun returns the output of a go command run at the root of the module.
func goRun(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("go %s: %w", strings.Join(args, " "), err))
	}
	return out
}
