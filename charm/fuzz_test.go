package charm

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The fuzz tests check that no input causes a panic, a hang, or an error other than ErrInvalid.

func checkInvalid(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrInvalid) {
		t.Fatalf("not an ErrInvalid: %v", err)
	}
	if strings.ContainsRune(err.Error(), 0) {
		t.Fatalf("the error contains a NUL: %q", err)
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(blogMeta))
	f.Add([]byte("name: a\nsummary: &s x\ndescription: *s\nprovides: {p: i, q: {<<: &m {interface: j}, limit: 2}}\n"))
	f.Add([]byte("name: a\nsummary: s\ndescription: d\nstorage: {s: {type: block, multiple: {range: 1+}, minimum-size: " +
		"1G}}\n"))
	f.Add([]byte("name: a\nsummary: s\ndescription: d\nextra-bindings: {x: }\nresources: {r: {filename: f}}\nseries: " +
		"trusty\n"))
	f.Add([]byte("name: a\nsummary: s\ndescription: d\ncontainers: {c: {}}\nmin-juju-version: 2.9-rc1\n" +
		"assumes: [juju, \"juju>=2.8\", any-of: [k8s-api, all-of: [juju < 3, juju >= 2.0.1]]]\n"))
	f.Add([]byte("{? [a] : b, ~: c}"))
	f.Add([]byte("name: b\nsummary: s\ndescription: d\nname: &n a\n*n : x\nprovides: {p: {interface: i, scop: x, " +
		"<<: {a: b}, <<: {a: c}}}\nsubordinate: 'false'\nrevision: '5'\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMeta(data)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if err := (&Charm{Meta: m, Config: &Config{}, Actions: &Actions{}}).checkContract(); err != nil {
			checkInvalid(t, err)
		}
		// Names become file names and parts of URLs.
		if u, err := ParseURL("local:" + m.Name); err != nil || u.Name != m.Name {
			t.Errorf("name %q: %+v, %v", m.Name, u, err)
		}
		for _, hook := range m.Hooks() {
			if !fs.ValidPath(hook) || strings.Contains(hook, "/") {
				t.Errorf("hook %q", hook)
			}
		}
		if len(m.Relations()) != len(m.Provides)+len(m.Requires)+len(m.Peers) {
			t.Error("one relation name has two roles")
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("options: {a: {type: int, default: 5}, b: {default: x}, c: {type: boolean, default: yes}}"), "a", "5")
	f.Add([]byte("options: {i: {type: int, default: '0x5', description: 42}, b: {type: boolean, default: 'T', d: 1}}\n"+
		"options: {i: {type: int, default: '7'}, s: {default: no}}\n"), "i", "0x5")
	f.Add([]byte("options:\n  f: {type: float, default: 1e3}\n  s: {type: secret}\n"), "f", "inf")
	f.Fuzz(func(t *testing.T, data []byte, name, value string) {
		c, err := ParseConfig(data)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		settings, err := c.ParseSettingsStrings(map[string]string{name: value})
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if _, err := json.Marshal(settings); err != nil {
			t.Error(err)
		}
	})
}

func FuzzParseActions(f *testing.F) {
	f.Add([]byte("a: {params: {p: {type: [integer, string], minimum: 1, default: 3}}, required: [p]}"), []byte(`{"p": 1}`))
	f.Add([]byte("a: {params: {p: {items: [{enum: [1]}], anyOf: [{not: {}}], patternProperties: {'^x': {}}}}}"),
		[]byte(`{"p": [1]}`))
	f.Add([]byte("a: {params: {p: {format: ipv4, dependencies: {q: [r]}, pattern: '['}}, id: 'x#y', required: []}"),
		[]byte(`{"p": 1e400}`))
	f.Add([]byte("a: {params: {id: {$ref: '#'}, p: {oneOf: [{}, {type: [x]}], default: .nan, minimum: 1e999}}}"),
		[]byte(`{"id": {"p": null}}`))
	f.Add([]byte("a: {paralel: yes, params: {p: {type: string, default: yes, enum: [on, 'on']}, q: {items: [{}], "+
		"properties: {r: {typ: x, default: 1, maximum: 0}}}}, additionalProperties: no}"), []byte(`{"p": true}`))
	f.Fuzz(func(t *testing.T, data, params []byte) {
		a, err := ParseActions("c", data)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		var m map[string]any
		if json.Unmarshal(params, &m) != nil {
			return
		}
		for name, spec := range a.Specs {
			if err := spec.ValidateParams(m); err != nil {
				checkInvalid(t, err)
			}
			filled, err := spec.InsertDefaults(m)
			if err != nil {
				checkInvalid(t, err)
				continue
			}
			again, err := spec.InsertDefaults(filled)
			if diff := cmp.Diff(filled, again); err != nil || diff != "" {
				t.Errorf("%s: defaults inserted twice: %v\n%s", name, err, diff)
			}
		}
	})
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"local:trusty/mysql-3", "cs:~joe/precise/x-y-0", "ch:amd64/jammy/p", "a", "local:a-1-2",
		"~x/y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if again, err := ParseURL(u.String()); err != nil || again != u {
			t.Errorf("%q: got %+v, formatted as %s and parsed as %+v, %v", s, u, u, again, err)
		}
		if s != u.String() && "ch:"+s != u.String() {
			t.Errorf("%q is formatted as %s", s, u)
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add("*.o\n!/keep.o\na/**/b/\n[a-c]x", "a/b")
	f.Fuzz(func(t *testing.T, rules, name string) {
		parsed, err := parseIgnore(rules)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		parsed.match(name, true)
	})
}

func FuzzReadArchive(f *testing.F) {
	f.Add(zipOf(f, metaItem, item{"hooks/", fs.ModeDir | 0o755, ""}, item{"hooks/install", 0o755, "#!/bin/sh"},
		item{"l", fs.ModeSymlink | 0o777, "hooks/../hooks"}))
	f.Add(zipOf(f, metaItem, item{"../evil", 0o644, "x"}))
	f.Add(zipOf(f, metaItem, item{"l", fs.ModeSymlink | 0o777, ".."}, item{"l/evil", 0o644, "x"}))
	f.Fuzz(tryArchive)
}

// FuzzBoundDirectory checks that boundDirectory counts at least the entries that package zip reads.
func FuzzBoundDirectory(f *testing.F) {
	plain := zipOf(f, metaItem, item{"a", 0o644, "x"}, item{"b", 0o644, "y"})
	f.Add(plain)
	f.Add(append([]byte("#!/bin/sh\nexec unzip $0\n"), plain...))
	f.Add(append(plain[:len(plain):len(plain)], "not a comment"...))
	f.Add(zip64(plain))
	f.Fuzz(func(t *testing.T, data []byte) {
		size := int64(len(data))
		z, err := zip.NewReader(bytes.NewReader(data), size)
		if err != nil || len(z.File) == 0 {
			return
		}
		if err := boundDirectory(bytes.NewReader(data), size, limits{entries: len(z.File) - 1}); err == nil {
			t.Errorf("package zip reads %d entries, but fewer were counted", len(z.File))
		}
	})
}

// FuzzArchiveTree builds valid archives, which random bytes never are. Each line is an entry: "d
// name", "l name target" or "f name content".
func FuzzArchiveTree(f *testing.F) {
	f.Add("d hooks\nf hooks/install #!/bin/sh\nl hooks/start install")
	f.Add("l a b\nl b ..\nf a/b x")
	f.Add("l d/x ..\nl e d/x/../y\nf e x")
	f.Add("f revision 7\nf config.yaml options:\nl actions.yaml x\nf x a:")
	f.Fuzz(func(t *testing.T, lines string) {
		items := []item{metaItem}
		for line := range strings.Lines(lines) {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			name, content, _ := strings.Cut(rest, " ")
			switch kind {
			case "d":
				items = append(items, item{strings.TrimRight(name, "/") + "/", fs.ModeDir | 0o755, ""})
			case "l":
				items = append(items, item{strings.TrimRight(name, "/"), fs.ModeSymlink | 0o777, content})
			case "f":
				items = append(items, item{strings.TrimRight(name, "/"), 0o644, content})
			}
		}
		tryArchive(t, zipOf(t, items...))
	})
}

// tryArchive reads and expands an arbitrary archive.
func tryArchive(t *testing.T, data []byte) {
	a, err := ReadArchiveFrom(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		checkInvalid(t, err)
		return
	}
	top := t.TempDir()
	if err := a.ExpandTo(t.Context(), filepath.Join(top, "charm")); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(top); err != nil || len(entries) != 1 {
		t.Fatalf("written outside the charm: %v, %v", entries, err)
	}
	d, err := ReadDir(filepath.Join(top, "charm"))
	if err != nil || d.Meta.Name != a.Meta.Name {
		t.Fatalf("the expanded charm differs: %+v, %v", d, err)
	}
	if err := d.ArchiveTo(io.Discard); err != nil {
		t.Fatalf("cannot archive the expanded charm: %v", err)
	}
	files, _ := readTree(t, d.Path)
	for _, name := range a.Manifest() {
		_, file := files[name]
		_, dir := files[name+"/"]
		if !file && !dir {
			t.Errorf("%s is in the manifest, but does not exist", name)
		}
	}
	if len(files) != len(a.Manifest()) {
		t.Errorf("manifest %q, files %q", a.Manifest(), files)
	}
}
