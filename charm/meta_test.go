package charm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/charm"
	"juju/state/entity"
)

const wordpress = `
name: wordpress
summary: A blog
description: |
  Words,
  pressed.
series: [trusty, precise]
categories: [applications]
tags: blog
provides:
  website: http
requires:
  db:
    interface: mysql
    limit: 1
  cache: {interface: memcache, optional: true, limit: 2}
peers:
  ring:
    interface: wp-ring
extra-bindings:
  public:
  admin-api:
storage:
  uploads:
    type: filesystem
    location: /srv/uploads
    minimum-size: 1.5G
    multiple: {range: 0-4}
  raw:
    type: block
    description: a disk
    read-only: true
    properties: [transient]
resources:
  theme: {type: file, filename: theme.tgz, description: How it looks}
payloads:
  kvm: {type: kvm-guest}
terms: [lorem/1]
min-juju-version: 2.0
format: 1
unknown-to-us: {whatever: [1, 2]}
`

func TestParseMeta(t *testing.T) {
	got, err := charm.ParseMeta([]byte(wordpress))
	if err != nil {
		t.Fatal(err)
	}
	want := &charm.Meta{
		Name:        "wordpress",
		Summary:     "A blog",
		Description: "Words,\npressed.\n",
		Platforms:   entity.Platforms{Series: []string{"trusty", "precise"}},
		Categories:  []string{"applications"},
		Tags:        []string{"blog"},
		Provides: map[string]charm.Relation{
			"website": {Name: "website", Role: charm.RoleProvider, Interface: "http", Scope: charm.ScopeGlobal},
		},
		Requires: map[string]charm.Relation{
			"db": {Name: "db", Role: charm.RoleRequirer, Interface: "mysql", Scope: charm.ScopeGlobal, Limit: 1},
			"cache": {Name: "cache", Role: charm.RoleRequirer, Interface: "memcache", Scope: charm.ScopeGlobal, Limit: 2,
				Optional: true},
		},
		Peers: map[string]charm.Relation{
			"ring": {Name: "ring", Role: charm.RolePeer, Interface: "wp-ring", Scope: charm.ScopeGlobal},
		},
		ExtraBindings: []string{"admin-api", "public"},
		Storage: map[string]charm.Storage{
			"uploads": {Name: "uploads", Type: charm.StorageFilesystem, Location: "/srv/uploads", MinimumSize: 1536, CountMin: 0,
				CountMax: 4},
			"raw": {Name: "raw", Type: charm.StorageBlock, Description: "a disk", ReadOnly: true, Transient: true,
				CountMin: 1, CountMax: 1},
		},
		Resources: map[string]charm.Resource{"theme": {Name: "theme", Type: "file", Filename: "theme.tgz",
			Description: "How it looks"}},
		Payloads:       map[string]string{"kvm": "kvm-guest"},
		Terms:          []string{"lorem/1"},
		MinJujuVersion: charm.Version{Major: 2},
		Warnings:       []string{`metadata.yaml:41: field "unknown-to-us": unknown key`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := len(got.Relations()); n != 4 {
		t.Errorf("%d relations declared, want 4", n)
	}
}

// meta returns a valid metadata.yaml followed by more, which starts at line 4.
func meta(more string) string {
	return "name: a\nsummary: s\ndescription: d\n" + more
}

func TestParseMetaRejects(t *testing.T) {
	for _, test := range []struct{ about, yaml, want string }{
		{"empty file", "", "metadata.yaml: empty metadata"},
		{"a list", "- name", `metadata.yaml:1: expected map, got ["name"]`},
		{"not YAML", "name: a\nsummary: [\n", "metadata.yaml:2: did not find expected node content"},
		{"two documents", meta("---\nname: b\n"), "metadata.yaml:4: expected one YAML document, got a second"},
		{"a recursive alias", "name: &a [*a]", "metadata.yaml: anchor 'a' value contains itself"},
		{"no name", "summary: s\ndescription: d\n", "metadata.yaml:1: name: expected string, got nothing"},
		{"name is a number", "name: 12\nsummary: s\ndescription: d\n", "metadata.yaml:1: name: expected string, got 12"},
		{"no summary", "name: a\ndescription: d\n", "metadata.yaml:1: summary: expected string, got nothing"},
		{"no description", "name: a\nsummary: s\n", "metadata.yaml:1: description: expected string, got nothing"},
		{"upper case name", "name: Mysql\nsummary: s\ndescription: d\n", `metadata.yaml:1: name: invalid charm name "Mysql"`},
		{"name like a revision", "name: mysql-5\nsummary: s\ndescription: d\n",
			`metadata.yaml:1: name: invalid charm name "mysql-5"`},
		{"subordinate is text", meta("subordinate: maybe\n"),
			`metadata.yaml:4: subordinate: expected boolean, got "maybe"`},
		{"subordinate is quoted", meta("subordinate: 'yes'\n"), `metadata.yaml:4: subordinate: expected boolean, got "yes"`},
		{"relation without interface", meta("provides:\n  db:\n    scope: global\n"),
			"metadata.yaml:6: provides.db.interface: expected string, got nothing"},
		{"relation without anything", meta("provides:\n  db:\n"),
			"metadata.yaml:5: provides.db.interface: expected string, got nothing"},
		{"relations as list", meta("provides: [db]\n"), `metadata.yaml:4: provides: expected map, got ["db"]`},
		{"unknown scope", meta("requires:\n  db: {interface: i, scope: local}\n"),
			`metadata.yaml:5: requires.db.scope: expected "global" or "container", got "local"`},
		{"limit is text", meta("requires:\n  db: {interface: i, limit: many}\n"),
			`metadata.yaml:5: requires.db.limit: expected int, got "many"`},
		{"limit below 0", meta("requires:\n  db: {interface: i, limit: -1}\n"),
			`metadata.yaml:5: requires.db.limit: limit may not be negative, got -1`},
		{"relation name is a path", meta("requires:\n  ../../db: i\n"),
			`metadata.yaml:5: requires.../../db: invalid relation name "../../db"`},
		{"empty interface", meta("requires:\n  db: ''\n"), `metadata.yaml:5: requires.db: invalid interface name ""`},
		{"reserved relation", meta("provides:\n  juju-info: juju-info\n"),
			`metadata.yaml:5: provides.juju-info: charm "a" using a reserved relation name: "juju-info"`},
		{"reserved relation, bare", meta("requires:\n  juju: i\n"),
			`metadata.yaml:5: requires.juju: charm "a" using a reserved relation name: "juju"`},
		{"reserved for a principal's container requirer",
			meta("requires:\n  juju-info: {interface: juju-info, scope: container}\n"),
			`metadata.yaml:5: requires.juju-info: charm "a" using a reserved relation name: "juju-info"`},
		{"reserved interface", meta("provides:\n  info: juju-info\n"),
			`metadata.yaml:5: provides.info: charm "a" relation "info" using a reserved interface: "juju-info"`},
		{"reserved interface, peer", meta("peers:\n  info: juju\n"),
			`metadata.yaml:5: peers.info: charm "a" relation "info" using a reserved interface: "juju"`},
		{"relation name in two roles", meta("provides:\n  db: i\nrequires:\n  db: i\n"),
			`metadata.yaml:7: requires.db: charm "a" using a duplicated relation name: "db"`},
		{"subordinate without a container relation", meta("subordinate: true\nrequires:\n  db: i\n"),
			`metadata.yaml:6: requires: subordinate charm "a" lacks "requires" relation with container scope`},
		{"subordinate without relations", meta("subordinate: true\n"),
			`metadata.yaml:1: requires: subordinate charm "a" lacks "requires" relation with container scope`},
		{"no extra bindings", meta("extra-bindings:\n"),
			"metadata.yaml:4: extra-bindings: extra bindings cannot be empty when specified"},
		{"extra binding with a value", meta("extra-bindings:\n  foo: 1\n"),
			"metadata.yaml:5: extra-bindings.foo: expected no value, got 1"},
		{"extra binding is a relation", meta("provides:\n  db: i\nextra-bindings:\n  db:\n"),
			`metadata.yaml:7: extra-bindings.db: charm "a" using relation name "db" as an extra binding`},
		{"bad series", meta("series: [trusty, '-x']\n"), `metadata.yaml:4: series: charm "a" declares invalid series: "-x"`},
		{"bad version", meta("min-juju-version: soon\n"), `metadata.yaml:4: min-juju-version: invalid version "soon"`},
		{"store without type", meta("storage:\n  s: {}\n"), "metadata.yaml:5: storage.s.type: expected string, got nothing"},
		{"store of unknown type", meta("storage:\n  s: {type: tape}\n"),
			`metadata.yaml:5: storage.s.type: expected "filesystem" or "block", got "tape"`},
		{"store with bad name", meta("storage:\n  S: {type: block}\n"),
			`metadata.yaml:5: storage.S: charm "a" storage "S": invalid name`},
		{"block with location", meta("storage:\n  s: {type: block, location: /dev/x}\n"),
			`metadata.yaml:5: storage.s.location: charm "a" storage "s": location may not be specified for "type: block"`},
		{"relative location", meta("storage:\n  s: {type: filesystem, location: srv}\n"),
			`metadata.yaml:5: storage.s.location: charm "a" storage "s": location "srv" is not an absolute path`},
		{"empty range", meta("storage:\n  s: {type: block, multiple: {range: 2-1}}\n"),
			`metadata.yaml:5: storage.s.multiple.range: expected a range such as 1, 0-2 or 1+, got "2-1"`},
		{"no range", meta("storage:\n  s: {type: block, multiple: {range: }}\n"),
			`metadata.yaml:5: storage.s.multiple.range: expected a range such as 1, 0-2 or 1+, got nothing`},
		{"bad size", meta("storage:\n  s: {type: block, minimum-size: 1Q}\n"),
			`metadata.yaml:5: storage.s.minimum-size: expected a size such as 512M or 1.5G, got "1Q"`},
		{"unknown property", meta("storage:\n  s: {type: block, properties: [fast]}\n"),
			`metadata.yaml:5: storage.s.properties: charm "a" storage "s": unknown property "fast"`},
		{"resource in a directory", meta("resources:\n  r: {type: file, filename: a/b}\n"),
			`metadata.yaml:5: resources.r.filename: expected a file name without directories, of at most 255 bytes, got "a/b"`},
		{"resource with a long name", meta("resources:\n  " + strings.Repeat("r", 201) + ": {type: file, filename: a}\n"),
			`metadata.yaml:5: resources.` + strings.Repeat("r", 201) + `: invalid resource name "` + strings.Repeat("r", 201) + `"`},
		{"store with a long name", meta("storage:\n  " + strings.Repeat("s", 300) + ": {type: filesystem}\n"),
			`metadata.yaml:5: storage.` + strings.Repeat("s", 300) + `: charm "a" storage "` + strings.Repeat("s", 300) + `": invalid name`},
		{"resource of unknown type", meta("resources:\n  r: {type: tape}\n"),
			`metadata.yaml:5: resources.r.type: expected "file" or "oci-image", got "tape"`},
		{"resource without a file name", meta("resources:\n  r: {type: file}\n"),
			`metadata.yaml:5: resources.r.filename: expected string, got nothing`},
		{"payload without type", meta("payloads:\n  p: {}\n"),
			`metadata.yaml:5: payloads.p.type: expected string, got nothing`},
		{"another user", meta("charm-user: nobody\n"),
			`metadata.yaml:4: charm-user: invalid charm-user "nobody" expected one of root, sudoer or non-root`},
		{"revision is text", meta("revision: x\n"), `metadata.yaml:4: revision: expected int, got "x"`},
	} {
		t.Run(test.about, func(t *testing.T) {
			m, err := charm.ParseMeta([]byte(test.yaml))
			if err == nil {
				t.Fatalf("accepted: %+v", m)
			}
			if err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if !errors.Is(err, charm.ErrInvalid) {
				t.Error("not an ErrInvalid")
			}
			var fe *charm.FileError
			if !errors.As(err, &fe) || fe.File != "metadata.yaml" {
				t.Errorf("the error does not name the file: %#v", err)
			}
		})
	}
}

func TestParseMetaAccepts(t *testing.T) {
	for _, test := range []struct{ about, yaml string }{
		{"YAML 1.1 boolean", meta("subordinate: no\n")},
		{"quoted booleans", meta("subordinate: 'false'\nprovides: {p: {interface: i, optional: 'true', limit: '3'}}\n")},
		{"a quoted revision", meta("revision: '5'\n")},
		{"obsolete fields", meta("revision: 12\nformat: 2\n")},
		{"a subordinate that requires juju-info",
			meta("subordinate: yes\nrequires:\n  juju-info: {interface: juju-info, scope: container}\n")},
		{"a requirer of a reserved interface", meta("requires:\n  info: juju-info\n")},
		{"one of Juju's own charms", "name: juju-gui\nsummary: s\ndescription: d\nprovides:\n  juju-api: juju-api\n"},
		{"an anchor and a merge",
			meta("provides:\n  one: &one {interface: i, limit: 3}\n  two: {<<: *one, limit: 4}\n  three: *one\n")},
		{"empty sections", meta("provides:\nrequires: {}\nstorage:\nseries: []\n")},
		{"a store without a maximum", meta("storage:\n  s: {type: block, multiple: {range: 1+}}\n")},
	} {
		t.Run(test.about, func(t *testing.T) {
			if _, err := charm.ParseMeta([]byte(test.yaml)); err != nil {
				t.Error(err)
			}
		})
	}
}

// If a key is duplicated, the last value is used, even in a map that an alias refers to.
func TestTheLastDuplicateKeyIsUsed(t *testing.T) {
	m, err := charm.ParseMeta([]byte("name: b\nsummary: &s old\nsummary: new\ndescription: *s\nname: a\n" +
		"provides:\n  one: &one {interface: i, limit: 1, limit: 2}\n  two: *one\n" +
		"  three: {<<: {interface: j, limit: 5}, <<: *one}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p := m.Provides; m.Name != "a" || m.Summary != "new" || m.Description != "old" || p["one"].Limit != 2 ||
		p["two"].Limit != 2 || p["three"].Interface != "i" {
		t.Errorf("got %+v", m)
	}
}

func TestMergedRelation(t *testing.T) {
	m, err := charm.ParseMeta([]byte(meta("provides:\n  one: &one {interface: i, limit: 3}\n  two: {<<: *one, limit: " +
		"4}\n")))
	if err != nil {
		t.Fatal(err)
	}
	if two := m.Provides["two"]; two.Interface != "i" || two.Limit != 4 {
		t.Errorf("got %+v", two)
	}
}

func TestStorageRanges(t *testing.T) {
	for written, want := range map[string][2]int{
		"1": {1, 1}, "3": {3, 3}, "0-2": {0, 2}, "2+": {2, -1}, "0-": {0, -1},
	} {
		m, err := charm.ParseMeta([]byte(meta("storage:\n  s: {type: block, multiple: {range: '" + written + "'}}\n")))
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if s := m.Storage["s"]; s.CountMin != want[0] || s.CountMax != want[1] {
			t.Errorf("%s: %d to %d, want %v", written, s.CountMin, s.CountMax, want)
		}
	}
	for _, written := range []string{"0", "0-0", "-1", "1+2", "a", "1-2-3", "9999999999"} {
		if _, err := charm.ParseMeta([]byte(meta("storage:\n  s: {type: block, multiple: {range: '" + written +
			"'}}\n"))); err == nil {
			t.Errorf("range %q is accepted", written)
		}
	}
}

// A "billion laughs" attack: each line expands to ten copies of the previous one.
func TestParseMetaLimitsAliases(t *testing.T) {
	var b strings.Builder
	b.WriteString(meta("x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"))
	for _, line := range strings.Fields("01 12 23 34 45 56 67 78") {
		from, to := line[:1], line[1:]
		b.WriteString("x" + to + ": &x" + to + " [" + strings.Repeat("*x"+from+", ", 9) + "*x" + from + "]\n")
	}
	b.WriteString("series: *x8\n")
	_, err := charm.ParseMeta([]byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "too many values") {
		t.Errorf("got %v", err)
	}
}

func TestVersions(t *testing.T) {
	good := []string{"1.25", "1.25.6", "1.25.6.1", "2.0-alpha1", "2.0-beta6", "2.0-beta12", "2.0-rc1", "2.0.0", "2.0.1",
		"2.1"}
	for _, a := range good {
		va, err := charm.ParseVersion(a)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := charm.ParseVersion(va.String()); err != nil || back != va {
			t.Errorf("%s is formatted as %s and parsed as %v, %v", a, va, back, err)
		}
	}
	for _, bad := range []string{"", "2", "2.", "a.b", "2.0beta1", "2.0-beta", "1.2.3.4.5", "1234567890.1"} {
		if v, err := charm.ParseVersion(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, v)
		}
	}
}

func TestHookNames(t *testing.T) {
	m, err := charm.ParseMeta([]byte(meta("provides:\n  db: i\nstorage:\n  disk: {type: block}\n")))
	if err != nil {
		t.Fatal(err)
	}
	hooks := strings.Join(m.Hooks(), " ")
	for _, want := range []string{"install", "stop", "db-relation-joined", "db-relation-broken", "disk-storage-attached"} {
		if !strings.Contains(" "+hooks+" ", " "+want+" ") {
			t.Errorf("no %s in %s", want, hooks)
		}
	}
	if strings.Contains(hooks, "juju-info") {
		t.Error("got a hook of an implicit relation")
	}
}
