package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A mutant is a single change to the code.
type mutant struct {
	id    int
	place string // file:line
	what  string
	file  string // the file's path
	line  int
}

func (m mutant) String() string { return m.place + ": " + m.what }

// A goPackage is a package whose tests are measured.
type goPackage struct {
	path, dir string
	loaded    *packages.Package
	edits     map[string][]edit // by file
}

// An edit wraps the text between two offsets in a file. Edits nest.
type edit struct {
	from, to      int
	before, after string
}

func load(ctx context.Context, pattern string) (*goPackage, error) {
	all, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles |
		packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
		packages.NeedImports | packages.NeedDeps}, pattern)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 || len(all[0].Errors) > 0 {
		return nil, fmt.Errorf("%d packages, errors %v", len(all), all[0].Errors)
	}
	p := &goPackage{path: all[0].PkgPath, dir: filepath.Dir(all[0].GoFiles[0]), loaded: all[0], edits: map[string][]edit{}}
	return p, nil
}

// neighbours maps operators to their replacements.
var neighbours = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ,
	token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.LAND: token.LOR, token.LOR: token.LAND}

// mutants returns all mutants of the package, and prepares the edits that compile them in.
func (p *goPackage) mutants() (all []mutant) {
	for i, f := range p.loaded.Syntax {
		file := p.loaded.CompiledGoFiles[i]
		if ast.IsGenerated(f) {
			continue
		}
		counted := map[token.Pos]int{}
		add := func(from, to token.Pos, what string, edit func(id int) (before, after string)) {
			at := p.loaded.Fset.Position(from)
			m := mutant{len(all) + 1, fmt.Sprintf("%s:%d", filepath.Base(file), at.Line), what, file,
				cmp.Or(counted[from], at.Line)}
			before, after := edit(m.id)
			p.edits[file] = append(p.edits[file], editOf(p.loaded.Fset, from, to, before, after))
			all = append(all, m)
		}
		p.countCases(f, counted)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				p.inFunc(fn.Body, add)
			}
		}
	}
	return all
}

// countCases maps the conditions of a switch to the switch's line, because the line of a case is covered only
// if the case is taken.
func (p *goPackage) countCases(f *ast.File, lines map[token.Pos]int) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SwitchStmt)
		if !ok {
			return true
		}
		line := p.loaded.Fset.Position(s.Body.Lbrace).Line
		for _, clause := range s.Body.List {
			for _, cond := range clause.(*ast.CaseClause).List {
				ast.Inspect(cond, func(n ast.Node) bool {
					if n != nil {
						lines[n.Pos()] = line
					}
					return true
				})
			}
		}
		return true
	})
}

func editOf(fset *token.FileSet, from, to token.Pos, before, after string) edit {
	return edit{fset.Position(from).Offset, fset.Position(to).Offset, before, after}
}

type adder func(from, to token.Pos, what string, edit func(id int) (before, after string))

// inFunc adds the mutants of a function's body.
func (p *goPackage) inFunc(body *ast.BlockStmt, add adder) {
	around := func(before, after string) func(int) (string, string) {
		return func(id int) (string, string) { return fmt.Sprintf(before, id), after }
	}
	var logs ast.Expr // a condition that only decides what is logged
	ast.Inspect(body, func(n ast.Node) bool {
		if n == logs && n != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.IfStmt:
			if n.Else == nil && !slices.ContainsFunc(n.Body.List, func(s ast.Stmt) bool { return !p.isLog(s) }) {
				logs = n.Cond
			} else if !isErrorCheck(n.Cond) {
				add(n.Cond.Pos(), n.Cond.End(), "negated: if "+p.text(n.Cond), around("(isMutant(%d) != (", "))"))
			}
		case *ast.BinaryExpr:
			other, ok := neighbours[n.Op]
			if !ok || isErrorCheck(n) || p.isConstant(n) || !p.isPlainBool(n) {
				return true
			}
			text := p.source(n.X) + " " + other.String() + " " + p.source(n.Y)
			add(n.Pos(), n.End(), fmt.Sprintf("%s for %s: %s", other, n.Op, p.text(n)),
				func(id int) (string, string) {
					// The operands appear twice, but are evaluated only once.
					return fmt.Sprintf("func() bool { if isMutant(%d) { return %s }; return ", id, text), " }()"
				})
			// Don't mutate the operands themselves: the mutant would be in only one of the two copies.
			return false
		case *ast.BlockStmt:
			p.leaveOut(n.List, add)
		case *ast.CaseClause:
			p.leaveOut(n.Body, add)
		case *ast.CommClause:
			p.leaveOut(n.Body, add)
		case *ast.CompositeLit:
			if n.Type != nil && p.isDocument(n) {
				for i, e := range n.Elts {
					add(n.Pos(), n.End(), fmt.Sprintf("left out: %s", p.text(e)), func(id int) (string, string) {
						return fmt.Sprintf("inMutant(%d, %d, ", id, i), ")"
					})
				}
			}
		case *ast.CallExpr:
			for _, arg := range n.Args {
				if id, ok := arg.(*ast.Ident); ok && p.isDocument(arg) && id.Name != "nil" {
					add(arg.Pos(), arg.End(), "emptied: "+id.Name+" in "+p.text(n), around("inMutant(%d, -1, ", ")"))
				}
			}
		}
		return true
	})
}

// leaveOut adds the mutants that omit one statement of a list.
func (p *goPackage) leaveOut(list []ast.Stmt, add adder) {
	for _, s := range list {
		switch n := s.(type) {
		case *ast.ExprStmt:
			if p.ends(n) || p.isLog(n) {
				continue
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt:
		default:
			continue
		}
		add(s.Pos(), s.End(), "left out: "+p.text(s), func(id int) (string, string) {
			return fmt.Sprintf("if !isMutant(%d) { ", id), " }"
		})
	}
}

func (p *goPackage) isLog(s ast.Stmt) bool { return strings.HasPrefix(p.text(s), "logger.") }

// isErrorCheck reports whether a condition only checks an error, as half of all conditions do.
func isErrorCheck(cond ast.Expr) bool {
	b, ok := cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ && b.Op != token.EQL {
		return false
	}
	x, okX := b.X.(*ast.Ident)
	y, okY := b.Y.(*ast.Ident)
	return okX && okY && y.Name == "nil" && strings.HasSuffix(strings.ToLower(x.Name), "err")
}

func (p *goPackage) isConstant(e ast.Expr) bool { return p.loaded.TypesInfo.Types[e].Value != nil }

func (p *goPackage) isPlainBool(e ast.Expr) bool {
	t := p.loaded.TypesInfo.Types[e].Type
	return t == types.Typ[types.Bool] || t == types.Typ[types.UntypedBool]
}

// isDocument reports whether an expression is a bson.D, a document of the store.
func (p *goPackage) isDocument(e ast.Expr) bool {
	t, ok := p.loaded.TypesInfo.Types[e].Type.(*types.Named)
	return ok && t.Obj().Name() == "D" && t.Obj().Pkg() != nil && t.Obj().Pkg().Name() == "bson"
}

// ends reports whether a statement ends its function, as panic does: without it the compiler would report a
// missing return.
func (p *goPackage) ends(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	return !ok || p.text(call.Fun) == "panic"
}

// text returns the source of a node on one line.
func (p *goPackage) text(n ast.Node) string { return strings.Join(strings.Fields(p.source(n)), " ") }

func (p *goPackage) source(n ast.Node) string {
	from, to := p.loaded.Fset.Position(n.Pos()), p.loaded.Fset.Position(n.End())
	source, err := os.ReadFile(from.Filename)
	if err != nil {
		return err.Error()
	}
	return string(source[from.Offset:to.Offset])
}

// helper is the code by which a package's mutants check whether they are active.
const helper = `
import (
	mutantos "os"
	mutantstrconv "strconv"
)

var activeMutant, _ = mutantstrconv.Atoi(mutantos.Getenv("MUTANT"))

func isMutant(id int) bool { return id == activeMutant }

// inMutant returns the list without its element i, or an empty one if i is -1, if the mutant is active.
func inMutant[S ~[]E, E any](id, i int, list S) S {
	switch {
	case !isMutant(id):
		return list
	case i < 0:
		return S{}
	}
	return append(append(S{}, list[:i]...), list[i+1:]...)
}
`

// binaries are the test binaries of a package: cover measures test coverage, and mutants contains all
// mutants.
type binaries struct{ dir, cover, mutants string }

// build compiles the package's tests, and those of package by unless it is "", with the package's mutants.
func (p *goPackage) build(ctx context.Context, dir, by string) (all []binaries, err error) {
	overlay, err := p.overlay(dir)
	if err != nil {
		return nil, err
	}
	tested := []*goPackage{p}
	if by != "" {
		other, err := load(ctx, by)
		if err != nil {
			return nil, err
		}
		tested = append(tested, other)
	}
	for i, t := range tested {
		b := binaries{t.dir, filepath.Join(dir, fmt.Sprint("cover", i)), filepath.Join(dir, fmt.Sprint("mutants", i))}
		if err := run(ctx, "go", "test", "-c", "-vet=off", "-coverpkg", p.path, "-o", b.cover, t.path); err != nil {
			return nil, err
		}
		if err := run(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.mutants, t.path); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// overlay writes the package's files with all mutants, and returns the file to pass to -overlay.
func (p *goPackage) overlay(dir string) (string, error) {
	replace := map[string]string{}
	for n, file := range slices.Sorted(maps.Keys(p.edits)) {
		source, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		changed := filepath.Join(dir, fmt.Sprintf("%d.go", n))
		if err := os.WriteFile(changed, []byte(apply(string(source), p.edits[file])), 0o600); err != nil {
			return "", err
		}
		replace[file] = changed
	}
	added := filepath.Join(dir, "helper.go")
	if err := os.WriteFile(added, []byte("package "+p.loaded.Name+"\n"+helper), 0o600); err != nil {
		return "", err
	}
	replace[filepath.Join(p.dir, "mutants_helper.go")] = added
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		return "", err
	}
	return path, nil
}

// apply makes edits. Where they nest, inner edits are inside outer ones.
func apply(source string, edits []edit) string {
	type insertion struct {
		at, order int
		text      string
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var all []insertion
	for i, e := range edits {
		all = append(all, insertion{e.from, i, e.before}, insertion{e.to, -i, e.after})
	}
	// At the same offset, ends come before beginnings, and inner ends before outer ones.
	slices.SortStableFunc(all, func(a, b insertion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out strings.Builder
	last := 0
	for _, in := range all {
		out.WriteString(source[last:in.at])
		out.WriteString(in.text)
		last = in.at
	}
	out.WriteString(source[last:])
	return out.String()
}
