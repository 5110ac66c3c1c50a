package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds that the rows name.
const (
	longFunction = 60   // lines
	manyParams   = 6    // parameters
	longLine     = 120  // characters, of which a tab is one
	manyFiles    = 45   // files in a folder
	manyLines    = 9000 // lines in a package
)

// figures are what is measured of a project: of the code that is not of tests, of their support, generated or a tool.
type figures struct {
	lines, comments int
	lengths         []int // of functions, in lines
	contexts        int   // parameters of type context.Context
	folders         map[string]*folder
	places          map[string][]string // of each measure that counts places, by its name's first word
}

type folder struct{ files, lines int }

// generated marks generated files; see go help generate.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// measure measures the Go files below a folder.
func measure(root string, skip func(path string) bool) (figures, error) {
	f := figures{folders: map[string]*folder{}, places: map[string][]string{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, path)
		switch name := entry.Name(); {
		case err != nil || relErr != nil:
			return fmt.Errorf("cannot read %s: %w", path, err)
		case entry.IsDir() && rel != "." && (isApart(name) || skip(rel)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || generated.Match(text) {
			return err
		}
		return f.file(rel, text)
	})
	return f, err
}

// isApart reports whether a folder's name says that it is not of the product.
func isApart(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "test") ||
		slices.Contains([]string{"testdata", "testutil", "testutils", "testing", "vendor", "node_modules"}, name)
}

// file adds a file's figures.
func (f *figures) file(path string, text []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	n := strings.Count(string(text), "\n")
	f.lines += n
	in := f.folders[filepath.Dir(path)]
	if in == nil {
		in = &folder{}
		f.folders[filepath.Dir(path)] = in
	}
	in.files++
	in.lines += n
	line := func(pos token.Pos) int { return set.Position(pos).Line }
	lines := strings.Split(string(text), "\n")
	comment := map[int]bool{} // the lines that are nothing else
	for _, group := range file.Comments {
		for i := line(group.Pos()); i <= line(group.End()); i++ {
			if i > line(group.Pos()) || strings.HasPrefix(strings.TrimSpace(lines[i-1]), "/") {
				comment[i] = true
			}
		}
	}
	f.comments += len(comment)
	table := map[int]bool{} // the lines of composite literals
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			f.function(fmt.Sprintf("%s:%d: %s", path, line(node.Pos()), node.Name.Name), node, line(node.End())-line(node.Pos())+1)
		case *ast.CompositeLit:
			for i := line(node.Pos()); i <= line(node.End()); i++ {
				table[i] = true
			}
		}
		return true
	})
	for i, text := range lines {
		if !comment[i+1] && utf8.RuneCountInString(text) > longLine && !table[i+1] {
			f.place("lines", fmt.Sprintf("%s:%d", path, i+1))
		}
	}
	return nil
}

func (f *figures) place(measure, place string) { f.places[measure] = append(f.places[measure], place) }

// function adds a function's figures.
func (f *figures) function(place string, decl *ast.FuncDecl, length int) {
	if decl.Body == nil {
		return
	}
	if f.lengths = append(f.lengths, length); length > longFunction {
		f.place("functions", fmt.Sprintf("%s: %d lines", place, length))
	}
	params := 0
	for _, field := range decl.Type.Params.List {
		params += max(1, len(field.Names))
		if sel, ok := field.Type.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Context" || nameOf(sel.X) != "context" {
			continue
		}
		f.contexts++
		if len(field.Names) == 0 || !isUsed(field.Names[0].Name, decl.Body) {
			f.place("contexts", place)
		}
	}
	if params >= manyParams {
		f.place("parameters", fmt.Sprintf("%s: %d", place, params))
	}
}

func nameOf(e ast.Expr) string {
	id, _ := e.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}

func isUsed(name string, body *ast.BlockStmt) (used bool) {
	ast.Inspect(body, func(node ast.Node) bool {
		id, ok := node.(*ast.Ident)
		used = used || ok && id.Name == name && name != "_"
		return !used
	})
	return used
}

type row struct{ name, value string }

// rows are the figures as they are shown.
func (f *figures) rows() []row {
	slices.Sort(f.lengths)
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	n := len(f.lengths)
	p99 := 0
	if n > 0 {
		p99 = f.lengths[(n-1)*99/100]
	}
	files, packages := 0, 0
	for _, in := range f.folders {
		if in.files > manyFiles {
			files++
		}
		if in.lines > manyLines {
			packages++
		}
	}
	count := func(measure string) int { return len(f.places[measure]) }
	return []row{
		{"product lines", fmt.Sprint(f.lines)},
		{fmt.Sprintf("functions over %d lines", longFunction), fmt.Sprintf("%.2f %% of %d, p99 %d", share(count("functions"), n), n, p99)},
		{fmt.Sprintf("parameters: functions with %d or more", manyParams), fmt.Sprint(count("parameters"))},
		{"contexts never used", fmt.Sprintf("%d of %d", count("contexts"), f.contexts)},
		{"comments, share of lines", fmt.Sprintf("%.1f %%", share(f.comments, f.lines))},
		{fmt.Sprintf("lines over %d characters outside tables", longLine), fmt.Sprint(count("lines"))},
		{fmt.Sprintf("folders over %d files", manyFiles), fmt.Sprint(files)},
		{fmt.Sprintf("packages over %d lines", manyLines), fmt.Sprint(packages)},
	}
}
