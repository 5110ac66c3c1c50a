package safeyaml

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// allocated returns how many bytes f has allocated, freed ones too.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

func TestParseRefuses(t *testing.T) {
	var bomb, merges strings.Builder
	bomb.WriteString("a0: &a0 [x]\n")
	merges.WriteString("a0: &a0 {x: 1}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		fmt.Fprintf(&merges, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	for _, test := range []struct{ name, text, want string }{
		{"a key twice", "a: 1\nb: {x: 1,\n x: 2}\n", `line 3: mapping key "x" already defined at line 2`},
		{"a long key twice", lines(2, strings.Repeat("k", 900)+": 1\n"), `line 2: mapping key "` + strings.Repeat("k", 100) +
			`"… already defined at line 1`},
		{"4,000 equal keys", lines(4000, "a: 1\n"), `line 2: mapping key "a" already defined at line 1`},
		{"60,000 keys", lines(60_000, "k#: 1\n"),
			"line 25000: too many values: more than 50000, aliases counted wherever they are used"},
		{"a list of 400,000", "[" + strings.Repeat("a,", 400_000) + "]",
			"too many values: more than 200000 commas, colons, brackets, dashes and lines"},
		{"lists in lists", "x:\n " + strings.Repeat("- ", 5000) + "a\n",
			"line 2: lists and maps are nested too deep: more than 64 in one another"},
		{"brackets in brackets", strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
			"line 1: lists and maps are nested too deep: more than 64 in one another"},
		{"depth by aliases", lines(1, "a0: &a0 {}\n") + func() (s string) {
			for i := 1; i < 70; i++ {
				s += fmt.Sprintf("a%d: &a%d [*a%d]\n", i, i, i-1)
			}
			return s
		}(), "line 65: lists and maps are nested too deep: more than 64 in one another"},
		{"aliases that double", bomb.String(), "too many values: more than 50000, aliases counted wherever they are used"},
		{"merges that double", merges.String(), "too many values: more than 50000, aliases counted wherever they are used"},
		{"a map as a key", "a: 1\n? {b: c}\n: d\n<<: {e: f}\n", "line 2: expected a name as key, got a list or map"},
		{"an alias of a list as a key", "a: &a [b]\n*a : c\n", "line 2: expected a name as key, got a list or map"},
		{"an alias in itself", "a: &a [*a]", "anchor 'a' value contains itself"},
		{"a map merged into itself", "a: &a {<<: *a}", "anchor 'a' value contains itself"},
		{"an alias to nothing", "a: *b", "unknown anchor 'b' referenced"},
		{"two documents", "a: 1\n---\nb: 1\n", "line 2: expected one YAML document, got a second"},
		{"no YAML", "a: [", "did not find expected node content"},
		{"too long", strings.Repeat("#", 6<<20), "larger than 5242880 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error
			bytes := allocated(func() { _, err = Parse([]byte(test.text), Default) })
			var e *Error
			if !errors.As(err, &e) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			// Far less than the gigabytes of package yaml, and than the limit of
			// marks allows; the test's own text is not in it.
			if bytes > 64<<20 {
				t.Errorf("%d bytes allocated for a text of %d", bytes, len(test.text))
			}
		})
	}
}

// The text at every limit takes what was reckoned for it.
func TestTheLargestTextIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"a list":    "[" + strings.Repeat("a,", Default.Marks-10) + "]",
		"keys":      "{" + strings.Repeat("?,", Default.Marks/2-10) + "}",
		"comments":  strings.Repeat("- #c\n", Default.Marks/2-10),
		"flow maps": "[" + strings.Repeat("{},", Default.Marks/2-10) + "]",
	} {
		bytes := allocated(func() { _, _ = Parse([]byte(text), Default) })
		t.Logf("%s: %d bytes of text, %d MB", name, len(text), bytes>>20)
		if bytes > 200<<20 {
			t.Errorf("%s: %d bytes allocated for a text of %d", name, bytes, len(text))
		}
	}
}

func TestUnmarshal(t *testing.T) {
	type row struct {
		A, B string
		C    map[string]int
	}
	var got map[string]row
	text := "x: &x {a: one, b: two}\ny:\n  <<: *x\n  b: three\n  c: {n: 1}\nz:\n"
	if err := Unmarshal([]byte(text), &got, Default); err != nil {
		t.Fatal(err)
	}
	if y := got["y"]; len(got) != 3 || y.A != "one" || y.B != "three" || y.C["n"] != 1 {
		t.Errorf("got %v", got)
	}
	if err := Unmarshal([]byte("x: 5"), &got, Default); err == nil ||
		err.Error() != "line 1: expected a map, got a number `5`" {
		t.Errorf("got %v", err)
	}
	if err := Unmarshal([]byte(" \n"), &got, Default); err != nil {
		t.Errorf("an empty text: %v", err)
	}
}

// Package yaml compares the keys of a map in pairs. How many pairs are left for it
// grows with the number of keys, not with its square.
func TestKeysAreNotComparedInPairs(t *testing.T) {
	pairs := func(keys int) int {
		root, err := Parse([]byte("m:\n"+lines(keys, "  k#: v#\n")+"  <<: {k0: no, other: yes}\n"), Own)
		if err != nil {
			t.Fatal(err)
		}
		split(root, chunk, map[*yaml.Node]bool{})
		var got map[string]map[string]string
		if err := root.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if m := got["m"]; len(m) != keys+1 || m["k0"] != "v0" || m["other"] != "yes" ||
			m[fmt.Sprint("k", keys-1)] != fmt.Sprint("v", keys-1) {
			t.Errorf("%d keys came out as %d", keys, len(m))
		}
		n := 0
		var count func(*yaml.Node)
		count = func(node *yaml.Node) {
			if node.Kind == yaml.MappingNode {
				n += len(node.Content) / 2 * (len(node.Content) / 2)
			}
			for _, child := range node.Content {
				count(child)
			}
		}
		count(root)
		return n
	}
	few, many := pairs(1_000), pairs(10_000)
	if many > 11*few {
		t.Errorf("1,000 keys: %d pairs; 10,000 keys: %d", few, many)
	}
}

// All YAML goes through this package.
func TestOnlyThisPackageDecodesYAML(t *testing.T) {
	top := filepath.Join("..", "..")
	decodes := regexp.MustCompile(`\byaml\.(Unmarshal|NewDecoder)\b`)
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != top && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			path == filepath.Join(top, "charm", "safeyaml", "safeyaml.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if found := decodes.Find(source); found != nil {
			t.Errorf("%s calls %s; call safeyaml.Parse or safeyaml.Unmarshal, which bound what it costs", path, found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: &a {b: [c, *x], ? d : e}\n<<: *a\n"))
	f.Add([]byte("- - a\n- {b, c: d}\n- ? e\n- |\n  f, g\n# h\n"))
	f.Add([]byte("{?,?}"))
	f.Add([]byte("[\"a\":b, 'c': d, {e}]"))
	f.Add([]byte("\xff\xfe[\x00a\x00,\x00b\x00]\x00"))
	f.Add([]byte("a: {b: c, d: e}\nf: {<<: {g: h}, i: j}\n"))
	limits := Limits{Bytes: 1 << 16, Marks: 1 << 16, Nodes: 1000, Depth: 20}
	f.Fuzz(func(t *testing.T, text []byte) {
		var doc yaml.Node
		if yaml.Unmarshal(text, &doc) == nil {
			nodes := 0
			var count func(*yaml.Node)
			count = func(n *yaml.Node) {
				nodes++
				for _, child := range n.Content {
					count(child)
				}
			}
			count(&doc)
			if m := marks(text); nodes > 2*m+3 {
				t.Errorf("%d nodes of %d marks", nodes, m)
			}
		}
		twice := 0
		root, err := ParseLast(text, limits, func(Twice) { twice++ })
		if _, strict := Parse(text, limits); err == nil && twice == 0 {
			if strict != nil && !strings.Contains(strict.Error(), "already defined") {
				t.Errorf("refused: %v", strict)
			}
		} else if strict == nil {
			t.Errorf("%d keys twice, %v, but Parse accepts it", twice, err)
		}
		if err != nil || root == nil {
			var e *Error
			if err != nil && (!errors.As(err, &e) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("not an Error: %q", err)
			}
			return
		}
		// Following all aliases does not take long.
		seen := 0
		var follow func(*yaml.Node, int)
		follow = func(n *yaml.Node, depth int) {
			if n = Resolve(n); depth > limits.Depth {
				t.Fatal("too deep")
			}
			if seen++; seen > limits.Nodes {
				t.Fatal("too many nodes")
			}
			for _, child := range n.Content {
				follow(child, depth+1)
			}
		}
		follow(root, 0)
		// A split map decodes to the same value.
		var whole, parts map[string]map[string]string
		if root.Decode(&whole) != nil {
			return
		}
		split(root, 1, map[*yaml.Node]bool{})
		if err := root.Decode(&parts); err != nil || !maps.EqualFunc(whole, parts, maps.Equal) {
			t.Errorf("%v, in parts %v, %v", whole, parts, err)
		}
	})
}

// JSON is YAML, except for surrogate pairs; what only looks like one is left as it is.
func TestSurrogatePairs(t *testing.T) {
	for text, want := range map[string]string{`{"a": "\uD83d\ude00 \\ud83d\\ude00 \u0041\n"}`: "😀 \\ud83d\\ude00 A\n", `{a: '\ud83d\ude00'}`: `\ud83d\ude00`,
		"a: |-\n  \\ud83d\\ude00": `\ud83d\ude00`} {
		var got map[string]string
		if err := Unmarshal([]byte(text), &got, Default); err != nil || got["a"] != want {
			t.Errorf("%s is read as %q: %v", text, got["a"], err)
		}
	}
}

func TestParseAll(t *testing.T) {
	roots, err := ParseAll([]byte("---\na: 1\n---\n# nothing\n---\n&x [b, *x0]\n"), Default)
	if err == nil {
		t.Errorf("an alias without an anchor: %v", roots)
	}
	roots, err = ParseAll([]byte("a: 1\n---\n# nothing\n---\n- b\n"), Default)
	if err != nil || len(roots) != 3 || roots[0].Kind != yaml.MappingNode || roots[1].ShortTag() != "!!null" ||
		roots[2].Line != 5 {
		t.Errorf("got %v, %v", roots, err)
	}
	if roots, err := ParseAll(nil, Default); err != nil || len(roots) != 0 {
		t.Errorf("an empty text: %v, %v", roots, err)
	}
	for text, want := range map[string]string{
		lines(60_000, "---\na\n"):      "line 100002: too many values in all documents together",
		"a: 1\n---\nb: {x: 1, x: 2}\n": `line 3: mapping key "x" already defined at line 3`,
		lines(3, "---\n- ["+strings.Repeat("a,", 20_000)+"]\n"): "line 6: too many values: more than 9996, " +
			"aliases counted wherever they are used",
	} {
		if _, err := ParseAll([]byte(text), Default); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
