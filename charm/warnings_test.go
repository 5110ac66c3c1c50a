package charm_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/charm"
)

func charmOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// No declaration is ignored silently.
func TestDeclarationsWithoutEffectAreListed(t *testing.T) {
	dir := charmOf(t, map[string]string{
		"metadata.yaml": `
name: a
summary: s
description: d
maintainer: me
subordinate: true
provides:
  web: {interface: http, limit: 3}
requires:
  juju-info: {interface: juju-info, scope: container}
  info: {interface: juju-info, scope: container}
  db: mysql
storage:
  data: {type: filesystem, multiple: {range: 0-1}, read-only: true}
  disk: {type: block, multiple: {range: 0-1}}
payloads:
  kvm: {type: kvm}
extra-bindings:
  admin:
terms: [lorem/1]
assumes: [juju >= 2.9]
charm-user: root
oddity: 1
"odd\x1bkey": 2
`,
		"config.yaml":                  "options:\n  key: {type: secret}\n  title: {type: string}\n",
		"actions.yaml":                 "backup: {description: b}\nrestore: {}\n",
		"actions/backup":               "#!/bin/sh\n",
		"metrics.yaml":                 "metrics: {}\n",
		"manifest.yaml":                "bases: [{name: ubuntu, channel: \"24.04\"}]\n", // charmcraft writes it in each
		"functions.yaml":               "old: {}\n",
		"hooks/update-status":          "#!/bin/sh\n",
		"hooks/install":                "#!/bin/sh\n",
		"hooks/web-relation-joined":    "#!/bin/sh\n",
		"hooks/web-relation-created":   "#!/bin/sh\n",
		"hooks/leader-elected":         "#!/bin/sh\n",
		"hooks/data-storage-attached":  "#!/bin/sh\n",
		"hooks/helper-of-another-name": "#!/bin/sh\n",
	})
	want := []string{
		`metadata.yaml: storage "disk": block devices and shared storage are not supported: the units get none`,
		`metadata.yaml: read-only storage "data": it is writable`,
		`metadata.yaml: terms "lorem/1": users are not asked to agree to them`,
		`actions.yaml: action "restore": it has no program in actions/, and there is no dispatch: running it fails`,
		`metadata.yaml:23: field "oddity": unknown key`,
		`metadata.yaml:24: field "odd\x1bkey": unknown key`,
		`functions.yaml: it is not read: actions are defined in actions.yaml`,
		`metrics.yaml: it is not read: no metrics are collected`,
	}
	d, err := charm.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, d.Warnings()); diff != "" {
		t.Errorf("directory (-want +got)\n%s", diff)
	}
	zip := filepath.Join(t.TempDir(), "a.zip")
	f, err := os.Create(zip)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ArchiveTo(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	a, err := charm.ReadArchive(t.Context(), zip)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, a.Warnings()); diff != "" {
		t.Errorf("archive (-want +got)\n%s", diff)
	}
}

// There is a warning with a line number for each unknown nested key, duplicate key, and default that
// contradicts its schema.
func TestIgnoredKeysCauseWarnings(t *testing.T) {
	for _, test := range []struct{ file, text, want string }{
		{"metadata.yaml", "provides:\n  db:\n    interface: i\n    scop: container\n",
			`metadata.yaml:7: field "provides.db.scop": unknown key; did you mean scope?`},
		{"metadata.yaml", "storage:\n  s:\n    type: filesystem\n    locaton: /srv\n    range: 0-3\n" +
			"    multiple: {rang: 1, range: 1}\n",
			`metadata.yaml:7: field "storage.s.locaton": unknown key; did you mean location?` + "\n" +
				`metadata.yaml:8: field "storage.s.range": it belongs under multiple: multiple: {range: …}` + "\n" +
				`metadata.yaml:9: field "storage.s.multiple.rang": unknown key; did you mean range?`},
		{"metadata.yaml", "resources:\n  r: {filename: f, desc: d, upstream-source: u}\n",
			`metadata.yaml:5: field "resources.r.desc": unknown key; did you mean description?`},
		{"metadata.yaml", "devices: {gpu: {type: nvidia.com/gpu}}\nsubordinat: true\n",
			`metadata.yaml:4: field "devices": devices are not supported` + "\n" +
				`metadata.yaml:5: field "subordinat": unknown key; did you mean subordinate?`},
		{"metadata.yaml", "tags: [a]\nprovides: {p: i, q: j,\n  p: k}\ntags: [b]\ntags: [c]\n",
			`metadata.yaml:6: key "p" is given twice: the value in line 5 has no effect` + "\n" +
				`metadata.yaml:7: key "tags" is given twice: the value in line 4 has no effect` + "\n" +
				`metadata.yaml:8: key "tags" is given twice: the value in line 7 has no effect`},
		{"metadata.yaml", strings.Repeat("oops: 1\n", 31),
			strings.Join(func() (all []string) {
				for i := range 20 {
					all = append(all, fmt.Sprintf(`metadata.yaml:%d: key "oops" is given twice: the value in line %d has no effect`,
						i+5, i+4))
				}
				return all
			}(), "\n") + "\nmetadata.yaml: 11 more keys or values without effect"},
		{"config.yaml", "option: {}\noptions:\n  o:\n    defualt: 1\n    immutable: true\n",
			`config.yaml:1: field "option": unknown key; did you mean options?` + "\n" +
				`config.yaml:4: field "options.o.defualt": unknown key; did you mean default?` + "\n" +
				`config.yaml:5: field "options.o.immutable": unknown key`},
		{"actions.yaml", "a:\n  paralel: true\n  descripton: d\n  title: t\n",
			`actions.yaml:2: field "a.paralel": unknown key; did you mean parallel?` + "\n" +
				`actions.yaml:3: field "a.descripton": unknown key; did you mean description?`},
		{"actions.yaml", "a:\n  params:\n    p: {typ: string, const: x}\n    params: {items: {minimun: 1}}\n" +
			"    q: {anyOf: [{defalt: 1}]}\n",
			`actions.yaml:3: field "a.params.p.typ": unknown key; did you mean type?` + "\n" +
				`actions.yaml:3: field "a.params.p.const": it is not in draft 4 of JSON Schema, and is not checked` + "\n" +
				`actions.yaml:4: field "a.params.params.items.minimun": unknown key; did you mean minimum?` + "\n" +
				`actions.yaml:5: field "a.params.q.anyOf.0.defalt": unknown key; did you mean default?`},
		{"actions.yaml", "a:\n  params:\n    p: {type: string, default: yes}\n" +
			"    m: {properties: {n: {maximum: 3, default: 4}}}\n",
			`actions.yaml:3: field "a.params.p.default": it does not fit its own schema (p: got boolean, want string); ` +
				`the action gets it anyway` + "\n" +
				`actions.yaml:4: field "a.params.m.properties.n.default": it does not fit its own schema (n: maximum: got 4, ` +
				`want 3); the action gets it anyway`},
	} {
		files := map[string]string{"metadata.yaml": meta(""), "actions/a": ""}
		files[test.file] += test.text
		c, err := charm.ReadDir(charmOf(t, files))
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(test.want, "\n"), c.Warnings()); diff != "" {
			t.Errorf("%s(-want +got)\n%s", test.text, diff)
		}
	}
}

// There is a warning for each file that looks like a hook or action but never runs. Files that
// programs use cause none.
func TestProgramsThatNeverRunCauseWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string // besides metadata.yaml; "->" is a symlink
		want  []string
	}{
		"a typo": {map[string]string{"hooks/config_changed": ""},
			[]string{"hooks/config_changed is not a hook: did you mean config-changed?"}},
		"an extension": {map[string]string{"hooks/install.sh": "", "hooks/web-relation-joind": ""}, []string{
			"hooks/install.sh is not a hook: did you mean install?",
			"hooks/web-relation-joind is not a hook: did you mean web-relation-joined?"}},
		"no such relation": {map[string]string{"hooks/database-relation-changed": "", "hooks/disk-storage-attached": ""}, []string{
			`hooks/database-relation-changed is not a hook: metadata.yaml has no relation "database"`,
			`hooks/disk-storage-attached is not a hook: metadata.yaml has no storage "disk"`}},
		"no files": {map[string]string{"hooks/start": "->nowhere", "hooks/stop/x": ""}, []string{
			"hooks/start is not a file, and never runs", "hooks/stop is not a file, and never runs"}},
		"an action": {map[string]string{"actions.yaml": "back-up: {}\nrestore: {}\n", "actions/backup": "", "actions/restore": ""},
			[]string{
				`actions.yaml: action "back-up": it has no program in actions/, and there is no dispatch: running it fails`,
				"actions/backup is not an action: did you mean back-up?"}},
		"helpers": {map[string]string{"hooks/install": "", "hooks/install.real": "", "hooks/instal": "", "hooks/utils.py": "",
			"hooks/charmhelpers/x": "", "hooks/lib.sh": "", "actions/lib.py": ""}, nil},
		"dispatch":    {map[string]string{"dispatch": "", "hooks/config_changed": "", "actions.yaml": "a: {}\n"}, nil},
		"no dispatch": {map[string]string{"dispatch": "->nowhere"}, []string{"dispatch is not a file, and never runs"}},
		"many": {func() map[string]string {
			files := map[string]string{}
			for i := range 13 {
				files[fmt.Sprintf("hooks/r%02d-relation-broken", i)] = ""
			}
			return files
		}(), append(func() (all []string) {
			for i := range 10 {
				all = append(all, fmt.Sprintf(`hooks/r%02d-relation-broken is not a hook: metadata.yaml has no relation "r%02[1]d"`, i))
			}
			return all
		}(), "3 more names in hooks/ and actions/ without effect")},
	} {
		t.Run(name, func(t *testing.T) {
			links := map[string]string{}
			files := map[string]string{"metadata.yaml": meta("provides: {web: http}\n")}
			for name, text := range test.files {
				if target, ok := strings.CutPrefix(text, "->"); ok {
					links[name] = target
				} else {
					files[name] = text
				}
			}
			dir := charmOf(t, files)
			for name, target := range links {
				file := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.Symlink(target, file)); err != nil {
					t.Fatal(err)
				}
			}
			d, err := charm.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var archive bytes.Buffer
			if err := d.ArchiveTo(&archive); err != nil {
				t.Fatal(err)
			}
			a, err := charm.ReadArchiveFrom(t.Context(), bytes.NewReader(archive.Bytes()), int64(archive.Len()))
			if err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string][]string{"directory": d.Warnings(), "archive": a.Warnings()} {
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got)\n%s", what, diff)
				}
			}
		})
	}
}

// An archive makes hooks and actions executable; the directory's warnings list those that are not.
func TestProgramsBecomeExecutable(t *testing.T) {
	dir := charmOf(t, map[string]string{"metadata.yaml": meta(""), "actions.yaml": "a: {}\n", "actions/a": "", "hooks/stop": "",
		"hooks/start": "", "hooks/lib.sh": ""})
	for _, name := range []string{"actions/a", "hooks/stop", "hooks/lib.sh"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := charm.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`file permissions: made executable for the units: "hooks/stop", "actions/a"`}
	if diff := cmp.Diff(want, d.Warnings()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var archive bytes.Buffer
	if err := d.ArchiveTo(&archive); err != nil {
		t.Fatal(err)
	}
	a, err := charm.ReadArchiveFrom(t.Context(), bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		t.Fatal(err)
	}
	unpacked := t.TempDir()
	if err := a.ExpandTo(t.Context(), unpacked); err != nil {
		t.Fatal(err)
	}
	for name, executable := range map[string]bool{"actions/a": true, "hooks/stop": true, "hooks/start": true, "hooks/lib.sh": false} {
		if info, err := os.Stat(filepath.Join(unpacked, name)); err != nil || info.Mode()&0o100 != 0 != executable {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// An ordinary charm gets no warnings. Long lists of names are shortened.
func TestOrdinaryCharmsGetNoWarnings(t *testing.T) {
	plain := charmOf(t, map[string]string{
		"metadata.yaml": "name: a\nsummary: s\ndescription: d\nseries: [jammy]\ntags: [x]\nmaintainers: [me]\nformat: 2\n" +
			"provides: {web: {interface: http, description: w}}\nlinks: {issues: [i]}\ntitle: A\ndocs: d\nwebsite: [w]\n" +
			"source: s\nissues: i\nupstream-source: u\nupstream-version: 1.2\ncharm-user: non-root\n",
		"config.yaml": "options: {title: {type: string}}\n", "hooks/web-relation-changed": "", "hooks/start": "",
		"README.md": "",
	})
	c, err := charm.ReadDir(plain)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Warnings(); len(got) > 0 {
		t.Errorf("unexpected warnings %q", got)
	}
	var terms []string
	for range 500 {
		terms = append(terms, strings.Repeat("t", 1000))
	}
	c.Meta.Terms = terms
	if got := c.Warnings(); len(got) != 1 || len(got[0]) > 4000 || !strings.Contains(got[0], " and 490 more: ") {
		t.Errorf("got warnings %.5000q", got)
	}
}

// Every field of Meta must be listed here: it works, needs no action, or causes a warning.
func TestEveryFieldOfACharmWorksOrCausesAWarning(t *testing.T) {
	works := []string{"Name", "Summary", "Description", "Subordinate", "Provides", "Requires", "Peers", "Categories",
		"Tags", "Platforms", "Series", "Bases", "OldRevision", "MinJujuVersion", "Assumes", "Payloads"}
	warned := []string{"ExtraBindings", "Storage", "Resources", "Containers", "Deployment", "Terms", "Warnings"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[charm.Meta]()) {
		if !slices.Contains(works, f.Name) && !slices.Contains(warned, f.Name) {
			t.Errorf("Meta.%s neither works nor causes a warning; see warnings.go", f.Name)
		}
	}
}
