// Package checktest tests the rules of checks.
package checktest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// EveryCollectionIsChecked checks that each collection named in the file at path is in ruled
// and in damaged, unless because explains why nothing can be wrong in it. It recognizes the
// constants for collections by their names, and fails if it finds fewer than min.
func EveryCollectionIsChecked(t *testing.T, path string, ruled []string, because map[string]string, damaged []string,
	min int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(spec.Names[0].Name, "C") {
			return true
		}
		n++
		collection, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Error(err)
		}
		if because[collection] != "" {
			return true
		}
		if !slices.Contains(ruled, collection) {
			t.Errorf("no rule checks %s: see the fields that the check reads, and unruled", collection)
		}
		if !slices.Contains(damaged, collection) {
			t.Errorf("no test damages %s: see damages", collection)
		}
		return true
	})
	if n < min {
		t.Errorf("%s has only %d collections", path, n)
	}
}
