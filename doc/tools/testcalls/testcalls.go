// Package testcalls finds out which tests call a function, directly or through others.
//
// It goes by names alone. Of a selector it looks only at the functions of packages: a method counts as called wherever
// its type is named. It looks into the module's test files and into its packages of test support, whose names end in
// "test".
package testcalls

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Func is a function, by its package's directory below the module's root, or by the import path of a package that is
// not the module's.
type Func struct {
	Dir, Name string
}

// Calls has the functions that use each function.
type Calls map[Func]map[Func]bool

// Read reads the module at root. Its path is the name by which its packages are imported.
func Read(root, module string) (Calls, error) {
	calls := Calls{}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); e.IsDir() && file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return fs.SkipDir
		}
		dir := filepath.Dir(file)
		if !strings.HasSuffix(file, ".go") || !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(dir, "test") {
			return nil
		}
		if dir, err = filepath.Rel(root, dir); err != nil {
			return err
		}
		return calls.add(file, filepath.ToSlash(dir), module)
	})
	return calls, err
}

// add adds the functions of a file, each with what it uses.
func (c Calls) add(file, dir, module string) error {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imports := map[string]string{} // by the name they have in the file
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(path.Base(imported), ".v2")
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = strings.TrimPrefix(imported, module+"/")
	}
	for _, decl := range syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = typeName(f.Recv.List[0].Type)
		}
		for _, used := range uses(f, dir, imports) {
			c.Add(Func{dir, name}, used)
		}
	}
	return nil
}

// Add notes that a function uses another.
func (c Calls) Add(by, used Func) {
	if c[used] == nil {
		c[used] = map[Func]bool{}
	}
	c[used][by] = true
}

// Users returns the functions that use one of the functions themselves.
func (c Calls) Users(functions ...Func) map[Func]bool {
	users := map[Func]bool{}
	for _, f := range functions {
		maps.Copy(users, c[f])
	}
	return users
}

// uses returns the functions to which the names in a declaration may refer. The field or method of a selector is not
// among them, because its name alone does not show what it is.
func uses(f *ast.FuncDecl, dir string, imports map[string]string) (used []Func) {
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				used = append(used, Func{imports[x.Name], n.Sel.Name})
			} else {
				ast.Inspect(n.X, visit)
			}
			return false
		case *ast.Ident:
			used = append(used, Func{dir, n.Name})
		}
		return true
	}
	ast.Inspect(f, visit)
	return used
}

// typeName returns the name of a receiver's type.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// Tests returns the tests that reach one of the functions, sorted.
func (c Calls) Tests(functions ...Func) []Func {
	var tests []Func
	reach := map[Func]bool{}
	for next := functions; len(next) > 0; {
		f := next[0]
		next = next[1:]
		if reach[f] {
			continue
		}
		reach[f] = true
		if IsTest(f.Name) {
			tests = append(tests, f)
		}
		next = slices.AppendSeq(next, maps.Keys(c[f]))
	}
	slices.SortFunc(tests, func(a, b Func) int { return strings.Compare(a.Dir+" "+a.Name, b.Dir+" "+b.Name) })
	return tests
}

// IsTest reports whether a function of this name in a test file is a test.
func IsTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	return ok && name != "TestMain" && rest != "" && !('a' <= rest[0] && rest[0] <= 'z')
}
