package doc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A compiled package is what go list says of it.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// list returns the packages with these folders and all that they import, by path.
func list(t *testing.T, folders []string) map[string]compiled {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles"}, folders...)...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]compiled{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p compiled
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// Each package compiles with a fault in it: one that doesn't would be found by any test. All faults of a package are planted at
// once, as far as they don't overlap; only if that does not compile, one by one.
func TestFaultsCompile(t *testing.T) {
	byFolder := map[string][]fault{}
	var folders []string
	for _, f := range readFaults(t) {
		if folder := path.Dir(f.file); strings.HasSuffix(f.file, ".go") {
			if byFolder[folder] == nil {
				folders = append(folders, "./"+folder)
			}
			byFolder[folder] = append(byFolder[folder], f)
		}
	}
	packages := list(t, folders)
	exports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[path].Export)
	})
	for folder, faults := range byFolder {
		p := packages["juju/"+folder]
		if together, alone := plantAll(t, faults); p.check(exports, together) == nil {
			faults = alone
		}
		for _, f := range faults {
			planted, err := f.plant()
			if err == nil {
				err = p.check(exports, map[string][]byte{path.Base(f.file): planted})
			}
			if err != nil {
				t.Errorf("faults.txt:%d: %v", f.line, err)
			}
		}
	}
}

// plantAll plants those of the faults of a package that don't overlap. It returns the changed files by name, and the others.
func plantAll(t *testing.T, faults []fault) (files map[string][]byte, alone []fault) {
	files = map[string][]byte{}
	for _, f := range faults {
		name := path.Base(f.file)
		if files[name] == nil {
			text, err := os.ReadFile(filepath.Join("..", f.file))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = text
		}
		if bytes.Count(files[name], []byte(f.old)) != 1 {
			alone = append(alone, f)
			continue
		}
		files[name] = bytes.Replace(files[name], []byte(f.old), []byte(f.new), 1)
	}
	return files, alone
}

// check type-checks a package with other texts of some of its files, and returns the first error.
func (p compiled) check(imports types.Importer, texts map[string][]byte) error {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		var text any // nil for what is in the file
		if planted, ok := texts[name]; ok {
			text = planted
		}
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err := (&types.Config{Importer: imports}).Check(p.ImportPath, set, files, nil)
	return err
}
