// Package doc_test checks the code against the documents in this folder.
package doc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"juju/doc/tools/verify"
)

const module = "juju"

// layers is doc/layers.txt.
type layers struct {
	may  map[string][]string // package or pattern → its allowed imports
	deps map[string][]string // binary → packages it must not contain
	only map[string][]string // pattern → imports allowed only there
}

func readLayers(text string) (layers, error) {
	l := layers{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		left, right, ok := strings.Cut(line, ":")
		if !ok {
			return l, fmt.Errorf("layers.txt:%d: no colon", n+1)
		}
		words, list := strings.Fields(left), strings.Fields(right)
		switch words[0] {
		case "!deps":
			for _, w := range words[1:] {
				l.deps[w] = list
			}
		case "!only":
			l.only[words[1]] = list
		default:
			l.may[words[0]] = list
		}
	}
	return l, nil
}

func matches(pattern, pkg string) bool {
	if pattern == "*" {
		return !strings.HasPrefix(pkg, "cmd/")
	}
	if base, all := strings.CutSuffix(pattern, "/..."); all {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

// row returns the most specific line for a package: its own, or that of its nearest
// ancestor.
func (l layers) row(pkg string) (string, bool) {
	if _, ok := l.may[pkg]; ok {
		return pkg, true
	}
	for dir := pkg; dir != "."; dir = path.Dir(dir) {
		if _, ok := l.may[dir+"/..."]; ok {
			return dir + "/...", true
		}
		if _, ok := l.may[dir]; ok {
			return dir, true
		}
	}
	return "", false
}

// check returns the violations among a package's imports.
func (l layers) check(pkg string, imports []string) []string {
	var wrong []string
	row, ok := l.row(pkg)
	if !ok {
		return []string{fmt.Sprintf("%s stands in no line of doc/layers.txt", pkg)}
	}
	folder := strings.TrimSuffix(row, "/...")
	for _, imp := range imports {
		ours, is := strings.CutPrefix(imp, module+"/")
		if !is {
			for where, list := range l.only {
				if !matches(where, pkg) &&
					slices.ContainsFunc(list, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }) {
					wrong = append(wrong, fmt.Sprintf("%s must not import %s: only %s may", pkg, imp, where))
				}
			}
			continue
		}
		allowed := slices.ContainsFunc(l.may[row], func(p string) bool { return matches(p, ours) })
		if !allowed && strings.HasPrefix(ours, folder+"/") {
			// A package below the same folder, without its own line.
			to, _ := l.row(ours)
			allowed = to == row
		}
		if !allowed && ours != pkg {
			wrong = append(wrong, fmt.Sprintf("%s must not import %s", pkg, ours))
		}
	}
	return wrong
}

// A listed package is as `go list` prints it.
type listed struct {
	ImportPath, Name, Doc, ForTest     string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
	Module                             struct {
		Path string
		Main bool
	}
}

// loaded has the module's packages, all they import and their tests. They are listed once, because that takes seconds.
var loaded = sync.OnceValues(func() ([]listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-test",
		"-json=ImportPath,Name,Doc,ForTest,GoFiles,Imports,TestImports,XTestImports,Deps,Module", "./...")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// load returns what loaded has.
func load(t *testing.T) []listed {
	t.Helper()
	all, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ourPackages returns the module's packages, without those of their tests.
func ourPackages(t *testing.T) (ours []listed) {
	t.Helper()
	for _, p := range load(t) {
		if p.Module.Main && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") {
			ours = append(ours, p)
		}
	}
	return ours
}

func ourLayers(t *testing.T) layers {
	t.Helper()
	text, err := os.ReadFile("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	l, err := readLayers(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestImportsFollowTheLayers(t *testing.T) {
	verify.Smoke(t)
	l := ourLayers(t)
	for _, p := range ourPackages(t) {
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, w := range l.check(pkg, p.Imports) {
			t.Error(w)
		}
		// Tests may import any package of the module, but the store's libraries stay in
		// state.
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			if !strings.HasPrefix(imp, module+"/") {
				for _, w := range l.check(pkg, []string{imp}) {
					t.Errorf("tests: %s", w)
				}
			}
		}
	}
}

func TestSmallBinariesHoldNoStore(t *testing.T) {
	verify.Smoke(t)
	l := ourLayers(t)
	seen := 0
	for _, p := range ourPackages(t) {
		binary := strings.TrimPrefix(p.ImportPath, module+"/")
		banned, ok := l.deps[binary]
		if !ok {
			continue
		}
		seen++
		for _, dep := range p.Deps {
			for _, b := range banned {
				if dep == b || strings.HasPrefix(dep, b+"/") {
					t.Errorf("%s holds %s", binary, dep)
				}
			}
		}
	}
	if seen != len(l.deps) || seen == 0 {
		t.Errorf("found %d of the %d binaries that layers.txt lists", seen, len(l.deps))
	}
}

// misnamed returns the test-support packages whose names don't say so, and the packages
// that are wrongly named as test support. inPrograms has the packages contained in
// programs. Nothing in doc is part of a program.
func misnamed(all []listed, inPrograms map[string]bool) []string {
	var wrong []string
	for _, p := range all {
		named := strings.HasSuffix(p.ImportPath, "test")
		switch {
		case named && inPrograms[p.ImportPath]:
			wrong = append(wrong, p.ImportPath+" is named as test support, but a program holds it")
		case !named && !inPrograms[p.ImportPath] && p.Name != "main" && len(p.GoFiles) > 0 &&
			!strings.HasPrefix(p.ImportPath, module+"/doc/"):
			wrong = append(wrong, p.ImportPath+" is in no program: its name must end in \"test\"")
		}
	}
	return wrong
}

func TestTestSupportIsNamedSo(t *testing.T) {
	verify.Smoke(t)
	all := ourPackages(t)
	inPrograms := map[string]bool{}
	for _, p := range all {
		if p.Name == "main" && strings.HasPrefix(p.ImportPath, module+"/cmd/") {
			for _, dep := range p.Deps {
				inPrograms[dep] = true
			}
		}
	}
	for _, w := range misnamed(all, inPrograms) {
		t.Error(w)
	}
	planted := []listed{
		{ImportPath: "juju/state/fixture", Name: "fixture", GoFiles: []string{"a.go"}},
		{ImportPath: "juju/state/entitytest", Name: "entitytest", GoFiles: []string{"a.go"}},
	}
	if wrong := misnamed(planted, map[string]bool{"juju/state/entitytest": true}); len(wrong) != len(planted) {
		t.Errorf("planted %d misnamed packages, found %q", len(planted), wrong)
	}
}

func TestPlantedImportsAreFound(t *testing.T) {
	verify.Smoke(t)
	l := ourLayers(t)
	for pkg, imp := range map[string]string{
		"state/entity":     "juju/state",
		"state":            "juju/apiserver/params",
		"worker/machiner":  "juju/state",
		"provider/local":   "juju/worker",
		"apiserver/client": "gopkg.in/mgo.v2/bson",
		"cmd/juju":         "juju/state/mongo",
		"agent/controller": "juju/cmd/jujud",
		"nowhere/at/all":   "juju/state",
	} {
		if len(l.check(pkg, []string{imp})) == 0 {
			t.Errorf("%s importing %s was not found", pkg, imp)
		}
	}
	if wrong := l.check("worker/uniter/resolver", []string{"juju/worker/uniter", "juju/hooks"}); len(wrong) > 0 {
		t.Errorf("allowed imports were rejected: %v", wrong)
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	verify.Smoke(t)
	for _, p := range ourPackages(t) {
		documented := p.Doc != "" || strings.HasPrefix(p.ImportPath, module+"/doc")
		if !documented {
			t.Errorf("%s has no package documentation", p.ImportPath)
		}
	}
}
