package safeyaml

import (
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// hostile are texts that a careless writer of YAML spoils.
var hostile = []string{"", " ", " hi", "hi ", "\n", "\n\n\n", "\nhi", "\n hi", " hi\n", "  a\n b\n", "a\n  b\n\n", "a\n\n\nb", "a \nb", "\t", "\thi", "a\n\tb",
	"\t\na", "hi\t", "# hi", "a # b", "a: b", ": ", "a:", "- ", "- a", "-", "---", "--- a", "...", "? a", "!a", "&a", "*a", "%a", "@a", "`a", "|", "|\n a",
	">-\n a", "'", "''", `"`, `a"b'c`, `\n`, "{", "{}", "[]", "[a", "a, b", "1", "01182252", "0755", "0o7", "0x1F", "0b1", "1_000", "1:30", "-190:20:30.15",
	"1e3", ".5", ".inf", ".NaN", "2001-01-01", "2001-12-14t21:59:43.10-05:00", "~", "null", "y", "Yes", "no", "on", "OFF", "true", "=", "<<",
	"\r", "a\rb", "a\r\nb\r\n", "\x00", "\x07", "\x1b[31mred", "\x7f", "a\u0085b", "\u0085", "a\u2028b\u2029c", "\u2028\na", "\ufeff", "\ufeffhi", "a\ufeff\nb",
	"a\u00a0", "\u200b", "\u202eevil", "é", "😀", "\ufffe", "\xff", "a\xffb\n", "\xc3\x28", strings.Repeat("long ", 500), strings.Repeat("x", 2000) + "\n" + strings.Repeat(" y", 900),
	strings.Repeat("k", 200), " \n \n ", "a\n\u0085\nb", "key: |\n  text\n", "#!/bin/sh\n\techo hi\n", "a\n---\nb", "a\n...\n"}

// nested puts a text where it can be in what we write.
func nested(s string) map[string]any {
	return map[string]any{"a": s, "list": []any{s, []any{s, "x"}, map[string]any{"k": s, "l": []any{s}, "after": "x"}}, "m": map[string]any{"n": map[string]any{"o": s}}, "z": "end"}
}

func reads(t *testing.T, written any, into any, want any) {
	t.Helper()
	for _, indent := range []int{2, 4} {
		text, err := Marshal(written, indent)
		if err != nil {
			t.Fatalf("Marshal(%q): %v", written, err)
		}
		got := reflect.New(reflect.TypeOf(into))
		if err := Unmarshal(text, got.Interface(), Own); err != nil {
			t.Fatalf("%q, indent %d: %v\n%s", written, indent, err, text)
		}
		if got := got.Elem().Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q, indent %d: read back %q from\n%s", written, indent, got, text)
		}
	}
}

// A text is read back as it was, wherever it is.
func TestTextsSurvive(t *testing.T) {
	for _, s := range hostile {
		reads(t, nested(s), map[string]any{}, nested(s))
		type entry struct {
			Key   string   `yaml:"key"`
			Lines []string `yaml:"lines,flow,omitempty"`
		}
		of := map[string][]entry{"entries": {{s, []string{s, "x"}}, {Key: s}}}
		reads(t, of, map[string][]entry{}, of)
		if strings.ToValidUTF8(s, "") == s {
			keys := map[string]string{s: "v", "z": s}
			reads(t, keys, map[string]string{}, keys)
		}
	}
}

// A text that others have written is written again as it was read.
func TestNodesSurvive(t *testing.T) {
	for _, source := range []string{"a: |2-\n\n  x", "- |+\n\n  x\n\n", "a: \"\\n x\"", "[' a\n\n b', &x yes, *x, 'yes', 0x1F, \"0x1F\"]", "a: >\n\n  folded\n  text\n",
		"# head\na: 1 # line\n# foot\n", "a: !!str 1"} {
		var want, got any
		root, err := Parse([]byte(source), Own)
		if err != nil {
			t.Fatal(err)
		}
		root.Decode(&want)
		text, err := Marshal(map[string]any{"top": []*yaml.Node{root}}, 4)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string][]any
		if err := Unmarshal(text, &m, Own); err != nil {
			t.Fatalf("%q: %v\n%s", source, err, text)
		}
		if got = m["top"][0]; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: read back %q, not %q, from\n%s", source, got, want, text)
		}
	}
}

func FuzzTexts(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	r := rand.New(rand.NewSource(1))
	for range 300 {
		var s string
		for range 3 {
			s += hostile[r.Intn(len(hostile))]
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { reads(t, nested(s), map[string]any{}, nested(s)) })
}

// No one else writes YAML: package yaml alone spoils texts, and so does who puts maps and lists together by hand.
func TestOnlyWriter(t *testing.T) {
	writes := regexp.MustCompile(`yaml\.(Marshal|NewEncoder)\(|(?s)"gopkg.in/yaml.v3".*\.Encode\(|` +
		`\{[a-z-]+: [^{}"\n]*%[sv]|"(\\n| )*- [a-z-]+: [^"\n]*%[sv]`)
	ours := regexp.MustCompile(`safeyaml\.(Marshal|Encode)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "../../charm/safeyaml/write.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if found := writes.Find(ours.ReplaceAll(text, nil)); found != nil {
			t.Errorf("%s has %.40s; use safeyaml.Marshal", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestForms(t *testing.T) {
	type form struct {
		Name    string         `yaml:"name"`
		None    string         `yaml:"none,omitempty"`
		Never   *time.Time     `yaml:"never,omitempty"`
		Hidden  string         `yaml:"-"`
		Flow    []string       `yaml:"flow,flow"`
		Pointer *int           `yaml:"pointer"`
		Time    time.Time      `yaml:"time"`
		Timeout time.Duration  `yaml:"timeout"`
		Units   map[string]int `yaml:"units"`
		Empty   []string       `yaml:"empty"`
		Number  any            `yaml:"number"`
		Script  string         `yaml:"script"`
		Plain   bool
		More    map[string]int `yaml:",inline"`
	}
	text, err := Marshal(form{Name: "yes", Flow: []string{"a", "b"}, Time: time.Unix(0, 0).UTC(), Timeout: time.Minute,
		Units: map[string]int{"a/10": 1, "a/9": 2, "a": 3, "b/1": 4}, Number: 3e11, Script: "#!/bin/sh\nexit 1\n", More: map[string]int{"more": 1}}, 2)
	want := `name: "yes"
flow: [a, b]
pointer: null
time: 1970-01-01T00:00:00Z
timeout: 1m0s
units:
  a: 3
  a/9: 2
  a/10: 1
  b/1: 4
empty: []
number: 300000000000
script: |
  #!/bin/sh
  exit 1
plain: false
more: 1
`
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}
