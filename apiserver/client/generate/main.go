// Generate writes the part of package client that agents use: a type for each facade in the table agentFacades of
// apiserver/facades, and a method for each of its methods. Arguments and results come from the signatures of the Go
// methods that the table names.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/types"
	"log"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"juju/apiserver/params"
)

// output is the file to write, in the directory of package client.
const output = "facades_gen.go"

func main() {
	log.SetFlags(0)
	source, err := generate()
	if err == nil {
		err = os.WriteFile(output, source, 0o666)
	}
	if err != nil {
		log.Fatalf("cannot write %s: %v", output, err)
	}
}

// generate returns the text of the file.
func generate() ([]byte, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedExportFile,
		Env: append(os.Environ(), "CGO_ENABLED=0"), // as in the Makefile, so that nothing is compiled twice
	}, "juju/apiserver/facades")
	if err != nil {
		return nil, err
	}
	if errs := loaded[0].Errors; len(errs) > 0 {
		return nil, errs[0]
	}
	g := &generator{info: loaded[0].TypesInfo, imports: map[string]bool{"context": true, "juju/apiserver/params": true}}
	if err := g.table(loaded[0]); err != nil {
		return nil, err
	}
	var file bytes.Buffer
	fmt.Fprintln(&file, "// Code generated from apiserver/facades/agentroutes.go by go generate; DO NOT EDIT.\n\npackage client\n\nimport (")
	for _, ours := range []bool{false, true} {
		for _, path := range slices.Sorted(func(yield func(string) bool) {
			for path := range g.imports {
				if strings.HasPrefix(path, "juju/") == ours && !yield(path) {
					return
				}
			}
		}) {
			fmt.Fprintf(&file, "\t%q\n", path)
		}
		fmt.Fprintln(&file)
	}
	fmt.Fprintln(&file, ")")
	file.Write(g.body.Bytes())
	return format.Source(file.Bytes())
}

type generator struct {
	info    *types.Info
	imports map[string]bool
	body    bytes.Buffer
}

// table reads the rows of the function agentFacades and writes their types and methods.
func (g *generator) table(pkg *packages.Package) error {
	var rows []ast.Expr
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "agentFacades" {
				rows = f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.CompositeLit).Elts
			}
		}
	}
	if rows == nil {
		return fmt.Errorf("package %s has no function agentFacades", pkg.PkgPath)
	}
	for _, row := range rows {
		facade := row.(*ast.CompositeLit).Elts
		name := g.text(facade[0])
		fmt.Fprintf(&g.body, "\n// %sFacade makes the requests of facade %[1]s.\ntype %[1]sFacade struct{ Caller }\n", name)
		for _, row := range facade[2].(*ast.CompositeLit).Elts {
			m := row.(*ast.CompositeLit).Elts
			g.method(name, g.text(m[0]), m[2].(*ast.CallExpr))
		}
	}
	return nil
}

// text returns the value of a constant string.
func (g *generator) text(e ast.Expr) string { return constant.StringVal(g.info.Types[e].Value) }

// method writes the method of one row. call is calls(f, args...), perhaps with .returns(name) or .orGone().
func (g *generator) method(facade, name string, call *ast.CallExpr) {
	m := method{generator: g, facade: facade, name: name}
	for {
		option, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		if option.Sel.Name == "returns" {
			m.result = g.text(call.Args[0])
		}
		call = option.X.(*ast.CallExpr)
	}
	m.calls = strings.NewReplacer("(", "", ")", "", "*", "").Replace(types.ExprString(call.Args[0]))
	m.signature = g.info.Types[call.Args[0]].Type.(*types.Signature)
	receiver := g.typeName(m.signature.Params().At(0).Type())
	if receiver == "*state.Unit" || receiver == "*state.Machine" || receiver == "*state.Storage" ||
		receiver == "*state.Service" {
		m.args = append(m.args, arg{name: "tag"})
	}
	for i, e := range call.Args[1:] {
		m.args = append(m.args, arg{g.text(e), m.signature.Params().At(2 + i).Type()})
	}
	m.write()
}

// A method is a method to write.
type method struct {
	*generator
	facade, name, calls string
	signature           *types.Signature // of the function that the server calls
	args                []arg            // the fields of the request
	result              string           // the result's name in the reply; "" if it is the whole reply
}

// An arg is an argument and its name in the request.
type arg struct {
	name string
	t    types.Type
}

func (m method) write() {
	fmt.Fprintf(&m.body, "\n// %s calls %s.\n", m.name, m.calls)
	var result types.Type
	if m.signature.Results().Len() == 2 {
		result = m.signature.Results().At(0).Type()
	}
	results := "error"
	if result != nil {
		results = fmt.Sprintf("(%s, error)", m.goType(result))
	}
	list := []string{"ctx context.Context"}
	for i, a := range m.args {
		t := "entity.Tag"
		if a.name == "tag" {
			m.imports["juju/state/entity"] = true
		} else if t = m.goType(a.t); m.signature.Variadic() && i == len(m.args)-1 {
			t = "..." + strings.TrimPrefix(t, "[]")
		}
		list = append(list, local(a.name)+" "+t)
	}
	head := fmt.Sprintf("func (f %sFacade) %s(", m.facade, m.name)
	if line := head + strings.Join(list, ", ") + ") " + results + " {"; len(line) <= 120 {
		fmt.Fprintln(&m.body, line)
	} else {
		fmt.Fprintf(&m.body, "%s\n%s,\n) %s {\n", head, strings.Join(list, ", "), results)
	}
	call := fmt.Sprintf("ctx, f, %q, %q, %s", m.facade, m.name, m.request())
	switch channel, watch := result.(*types.Chan); {
	case watch:
		fmt.Fprintf(&m.body, "return %s(%s)\n", watches[m.goType(channel.Elem())], call)
	case result == nil:
		fmt.Fprintf(&m.body, "return call(%s, nil)\n", call)
	case m.result == "":
		fmt.Fprintf(&m.body, "var result %s\nerr := call(%s, &result)\nreturn result, err\n", m.wireType(result), call)
	default:
		field := exported(m.result)
		value := "reply." + field
		if m.wireType(result) != m.goType(result) {
			value = fmt.Sprintf("%s(%s)", m.goType(result), value)
		}
		fmt.Fprintf(&m.body, "var reply struct { %s %s `json:%q` }\n", field, m.wireType(result), m.result)
		fmt.Fprintf(&m.body, "err := call(%s, &reply)\nreturn %s, err\n", call, value)
	}
	fmt.Fprintln(&m.body, "}")
}

// request returns an expression for the request's parameters.
func (m method) request() string {
	if len(m.args) == 0 {
		return "nil"
	}
	var fields, values []string
	for _, a := range m.args {
		t, value := "params.Tag", "params.TagOf(tag)"
		if a.name != "tag" {
			t, value = m.wireType(a.t), m.fitted(a)
		}
		fields = append(fields, fmt.Sprintf("%s %s `json:%q`", exported(a.name), t, a.name))
		values = append(values, value)
	}
	if len(m.args) == 1 && m.args[0].name == "tag" {
		return "params.Entity{Tag: params.TagOf(tag)}"
	}
	return fmt.Sprintf("struct {\n%s\n}{%s}", strings.Join(fields, "\n"), strings.Join(values, ", "))
}

// fits maps types to the function of package limits that truncates what the controller would reject as too long or
// impossible to store: an agent can't handle the error, and users would see nothing at all.
var fits = map[string]string{"entity.Status": "FitStatus", "[]entity.WorkerFailure": "FitFailures"}

// fitted returns an expression for an argument, truncated if fits has its type.
func (m method) fitted(a arg) string {
	if fit, ok := fits[m.goType(a.t)]; ok {
		m.imports["juju/state/limits"] = true
		return fmt.Sprintf("limits.%s(%s)", fit, local(a.name))
	}
	return local(a.name)
}

// watches maps the element type of a watch's channel to the function of package client that starts it.
var watches = map[string]string{
	"struct{}": "notify", "[]string": "names", "entity.RelationUnitsChange": "relationUnits",
}

// wireType returns the source text of params.WireType of a type.
func (g *generator) wireType(t types.Type) string {
	name := g.typeName(t)
	for goType, wire := range params.WireTypes {
		if strings.ReplaceAll(goType.String(), "interface {}", "any") == name {
			return wire.String()
		}
	}
	return g.goType(t)
}

// goType returns the source text of a type, and imports the packages it needs.
func (g *generator) goType(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		g.imports[p.Path()] = true
		return p.Name()
	})
}

// typeName is goType without the imports.
func (g *generator) typeName(t types.Type) string {
	return types.TypeString(t, (*types.Package).Name)
}

// exported returns the Go name for a name in JSON: "ShouldRetry" for "should-retry".
func exported(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// local is exported for the name of a variable.
func local(name string) string {
	name = exported(name)
	return strings.ToLower(name[:1]) + name[1:]
}
