// Longtests prints the tests that -short shrinks or skips, as arguments for go test. After `make race`, which
// runs all other tests in full, only these remain; `make check` uses it to avoid running anything twice.
//
//	go test $(go run ./doc/longtests [TEST...])
//
// Each TEST names an additional test to print. A test is printed if it calls testing.Short, or a function in
// its package's tests that does. A method counts as called wherever its type is named.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "longtests:", err)
		os.Exit(1)
	}
}

func run(more []string) error {
	calls := map[string]map[string][]string{} // by directory and function: the names it uses
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.Dir(path)
		if calls[dir] == nil {
			calls[dir] = map[string][]string{}
		}
		return addCalls(calls[dir], path)
	})
	if err != nil {
		return err
	}
	var dirs, tests []string
	for dir, functions := range calls {
		long := reaching(functions, "testing.Short")
		for name := range functions {
			if strings.HasPrefix(name, "Test") && (long[name] || slices.Contains(more, name)) {
				tests = append(tests, name)
				dirs = append(dirs, "./"+dir)
			}
		}
	}
	slices.Sort(tests)
	slices.Sort(dirs)
	// A $ would need different quotes in a shell and in a Makefile.
	fmt.Printf("-run '^(%s)\\b' %s\n", strings.Join(slices.Compact(tests), "|"), strings.Join(slices.Compact(dirs), " "))
	return nil
}

// addCalls adds the functions in a file, each with the names it uses.
func addCalls(functions map[string][]string, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = typeName(f.Recv.List[0].Type)
		}
		ast.Inspect(f, func(n ast.Node) bool { return addUse(functions, name, n) })
	}
	return nil
}

// addUse adds the name that a node in a function refers to, and reports whether to descend into the node. It
// skips the field or method of a selector, because that name alone does not show what is called.
func addUse(functions map[string][]string, name string, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if !ok || x.Name != "testing" {
			ast.Inspect(n.X, func(n ast.Node) bool { return addUse(functions, name, n) })
			return false
		}
		functions[name] = append(functions[name], "testing."+n.Sel.Name)
		return false
	case *ast.Ident:
		functions[name] = append(functions[name], n.Name)
	}
	return true
}

// typeName returns the name of a receiver's type.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// reaching returns the functions that use a name directly, or call another function that does.
func reaching(functions map[string][]string, name string) map[string]bool {
	reach := map[string]bool{name: true}
	for grown := -1; grown != len(reach); {
		grown = len(reach)
		for f := range maps.Keys(functions) {
			if slices.ContainsFunc(functions[f], func(used string) bool { return reach[used] }) {
				reach[f] = true
			}
		}
	}
	return reach
}
