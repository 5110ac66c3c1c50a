package embedded_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateSenders = flag.Bool("update-senders", false, "write senders.txt anew")

const sendersHead = `# Which commands with their fields, stages and operators the store has, and who sends them: the product's own sources, mgo, the
# official driver, or mongosh, as conformancetest/testdata/mongosh.txt and doc/operations.md show. What none of them sends is for
# others: drivers of other languages, and people who look into the store with mongosh and mend it, who find the languages of
# queries, updates and expressions whole. What no one needs to look or to mend is not here: $out, $merge, $lookup, users, sharding.
# go test ./state/mongo/embedded -run TestSenders -update-senders writes this from the sources; look at what it changes.
`

// A command, stage or operator is in the store only if somebody sends it, and senders.txt says who.
func TestSenders(t *testing.T) {
	got := sendersHead
	sources := map[string]string{
		"product": goSources(t, nil, "state/mongo/embedded", "state/mongo/conformancetest", "state/mongo/mongotest"),
		"mgo":     goSources(t, []string{module(t, "gopkg.in/mgo.v2")}),
		"driver":  goSources(t, []string{module(t, "go.mongodb.org/mongo-driver")}, "/internal/", "/examples/", "/benchmark/"),
	}
	shown := ""
	for _, path := range []string{"../conformancetest/testdata/mongosh.txt", "../../../doc/operations.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(text)
	}
	for _, kind := range []string{"command", "query", "update", "pipeline"} {
		names := served(t, kind)
		if len(names) < 10 {
			t.Fatalf("the store has %d of kind %s: the test reads its sources wrongly", len(names), kind)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			var who []string
			for _, sender := range []string{"product", "mgo", "driver"} {
				if strings.Contains(sources[sender], strconv.Quote(name)) {
					who = append(who, sender)
				}
			}
			if regexp.MustCompile(regexp.QuoteMeta(name) + `\b`).MatchString(shown) {
				who = append(who, "mongosh")
			}
			if who == nil {
				who = []string{"others"}
			}
			got += fmt.Sprintf("%s %s: %s\n", kind, name, strings.Join(who, ", "))
		}
	}
	if *updateSenders {
		if err := os.WriteFile("senders.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("senders.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("senders.txt differs from what the store has: name who sends it, or take it out\n%s", got)
	}
}

// served returns the names that the store takes, as its sources have them: the keys of the table of commands, and the operators
// that other packages have as keys of tables or in cases.
func served(t *testing.T, kind string) map[string]bool {
	t.Helper()
	dir, pattern := kind, regexp.MustCompile(`^\$[a-zA-Z]+$`)
	if kind == "command" {
		dir, pattern = "request.go", regexp.MustCompile(`^[a-zA-Z]+$`)
	}
	names := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		note := func(e ast.Expr) {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if name, _ := strconv.Unquote(lit.Value); pattern.MatchString(name) {
					names[name] = true
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				note(n.Key)
			case *ast.CaseClause:
				for _, e := range n.List {
					note(e)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// module returns the directory of a module's sources.
func module(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// goSources returns the sources below directories, or with none those of the product, without those of tests and below others.
func goSources(t *testing.T, dirs []string, without ...string) string {
	t.Helper()
	if dirs == nil {
		for _, name := range []string{"agent", "apiserver", "charm", "cmd", "hooks", "provider", "state", "worker"} {
			dirs = append(dirs, filepath.Join("../../..", name))
		}
	}
	var all strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			skipped := slices.ContainsFunc(without, func(part string) bool { return strings.Contains(path, part) })
			if err != nil || skipped || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
