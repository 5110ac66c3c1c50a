package bundle

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/state/entity"
)

var update = flag.Bool("update", false, "write the actual outcomes into testdata")

// charms are the charms that test bundles can deploy, by path.
var charms = func() map[string]*charm.Charm {
	all := map[string]*charm.Charm{}
	for name, text := range map[string][2]string{
		"web": {"requires: {store: kv, log: {interface: log, optional: true}}\nprovides: {site: http}\npeers: {ring: web}",
			"options: {title: {type: string}, port: {type: int, default: 80}, debug: {type: boolean}}"},
		"store": {"provides: {db: kv}\nresources: {seed: {type: file, filename: seed}}", ""},
		"two":   {"provides: {db: kv, admin: kv}", ""},
		"proxy": {"requires: {backend: http}\nprovides: {site: http}", ""},
		"log":   {"subordinate: true\nrequires: {host: {interface: juju-info, scope: container}}", ""},
		"sub": {"subordinate: true\nprovides: {log: {interface: log, scope: container}}\n" +
			"requires: {any: {interface: juju-info, scope: container}}", ""},
		"near": {"provides: {db: {interface: kv, scope: container}}", ""},
	} {
		meta, err := charm.ParseMeta([]byte("name: " + name + "\nsummary: s\ndescription: d\n" + text[0] + "\n"))
		if err != nil {
			panic(err)
		}
		config, err := charm.ParseConfig([]byte(text[1]))
		if text[1] == "" {
			config, err = &charm.Config{}, nil
		}
		if err != nil {
			panic(err)
		}
		all["/charms/"+name] = &charm.Charm{Meta: meta, Config: config}
	}
	return all
}()

var checks = Checks{
	File: func(f File) error {
		if f.Path == "/charms/nowhere" {
			return errors.New("no such file")
		}
		return nil
	},
	Charm: func(s *Service) (*charm.Charm, error) {
		path := s.CharmPath()
		if path == "" {
			return nil, errors.New("there is no charm store")
		}
		if strings.HasSuffix(path, "broken") {
			return nil, errors.New("it is broken")
		}
		if ch := charms[path]; ch != nil {
			return ch, nil
		}
		return nil, fs.ErrNotExist
	},
	Constraints: func(text string) error {
		if strings.Contains(text, "bad") {
			return errors.New("bad constraint")
		}
		return nil
	},
	Offer: func(url string) (entity.Offer, error) {
		if url == "admin/default.db" {
			return entity.Offer{URL: url, Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "kv"},
				{Name: "log", Role: "requirer", Interface: "log"}}}, nil
		}
		return entity.Offer{}, fmt.Errorf("offer %q not found", url)
	},
	User: func(name string) error {
		if name == "nobody" {
			return fmt.Errorf("user %q not found", name)
		}
		return nil
	},
	Series: func(base string) string {
		return map[string]string{"ubuntu@22.04": "jammy", "ubuntu@24.04": "noble"}[base]
	},
}

// sources splits a case into its files. Each starts at a line "+ NAME", except the first, which is
// /charms/bundle.yaml.
func sources(text string) (all []Source) {
	for i, part := range strings.Split("+ /charms/bundle.yaml\n"+text, "\n+ ") {
		name, text, _ := strings.Cut(strings.TrimPrefix(part, "+ "), "\n")
		if i == 0 {
			name = "/charms/bundle.yaml"
		}
		all = append(all, Source{Name: filepath.Base(name), Text: []byte(text), Dir: filepath.Dir(name),
			Include: func(path string) ([]byte, error) {
				if strings.HasSuffix(path, "missing") {
					return nil, fs.ErrNotExist
				}
				return []byte("content of " + path + "\n"), nil
			}})
	}
	return all
}

// outcome formats the bundle that Read and Verify return, or their errors.
func outcome(text string) string {
	var out strings.Builder
	b, err := Read(sources(text)...)
	if err != nil {
		return "cannot read: " + err.Error() + "\n"
	}
	relations, err := b.Verify(checks)
	for _, w := range b.Warnings {
		fmt.Fprintln(&out, "warning:", w)
	}
	if err != nil {
		return out.String() + err.Error() + "\n"
	}
	if b.Series != "" {
		fmt.Fprintln(&out, "series", b.Series)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		s := b.Services[name]
		fmt.Fprintf(&out, "%s: charm %s", name, s.CharmPath())
		for _, p := range b.Placements(name) {
			fmt.Fprintf(&out, " [%s]", p)
		}
		if s.Expose != nil {
			fmt.Fprintf(&out, " expose %v", *s.Expose)
		}
		if s.ExposedEndpoints != nil {
			fmt.Fprintf(&out, " exposed %v", s.ExposedEndpoints.Normal())
		}
		if s.Bindings != nil {
			fmt.Fprintf(&out, " bindings %v", s.Bindings)
		}
		if s.ConstraintsGiven {
			fmt.Fprintf(&out, " constraints %q", s.Constraints)
		}
		if s.Series != "" {
			fmt.Fprintf(&out, " series %s", s.Series)
		}
		if s.Trust {
			fmt.Fprint(&out, " trust")
		}
		if len(s.Annotations) > 0 {
			fmt.Fprint(&out, " annotations ", s.Annotations)
		}
		if len(s.Resources) > 0 {
			fmt.Fprint(&out, " resources ", s.Resources)
		}
		if len(s.Storage) > 0 {
			fmt.Fprint(&out, " storage ", s.Storage)
		}
		for _, offer := range slices.Sorted(maps.Keys(s.Offers)) {
			fmt.Fprintf(&out, " offers %s: %v", offer, *s.Offers[offer])
		}
		if len(s.Unsupported) > 0 {
			fmt.Fprint(&out, " unsupported ", s.Unsupported)
		}
		fmt.Fprintln(&out)
		options, err := s.OptionsYAML(name)
		fmt.Fprint(&out, options)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.Machines)) {
		fmt.Fprintf(&out, "machine %s: %+v\n", id, *b.Machines[id])
	}
	for _, name := range slices.Sorted(maps.Keys(b.SAAS)) {
		fmt.Fprintln(&out, "saas", name, b.SAAS[name])
	}
	for _, r := range relations {
		fmt.Fprintln(&out, "relation", r[0], r[1])
	}
	return out.String()
}

// A case in testdata is a line "=== title", a bundle, a line "=>" and the expected outcome.
func TestBundles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(text), "=== ")
		fresh := head
		for _, c := range strings.Split(rest, "\n=== ") {
			title, body, _ := strings.Cut(c, "\n")
			input, want, _ := strings.Cut(body, "\n=>\n")
			got := strings.TrimRight(outcome(input+"\n"), "\n")
			fresh += "=== " + title + "\n" + input + "\n=>\n" + got + "\n\n"
			if strings.TrimRight(want, "\n") != got && !*update {
				t.Errorf("%s: %s:\n%s\n\ngot\n%s\nwant\n%s", file, title, input, got, want)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.TrimSuffix(fresh, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestParsePlacement(t *testing.T) {
	for text, want := range map[string]Placement{
		"0": {"", "0", "", -1}, "new": {"", "", "", -1}, "lxd:new": {"lxd", "", "", -1}, "lxd:7": {"lxd", "7", "", -1},
		"db": {"", "", "db", -1}, "kvm:web-a/12": {"kvm", "", "web-a", 12},
	} {
		p, err := ParsePlacement(text)
		if err != nil || p != want || p.String() != text {
			t.Errorf("%q: got %+v, formatted %s, %v", text, p, p, err)
		}
	}
	for _, text := range []string{"", "01", "new/0", "db/", "db/01", "a/b", "lxd:", ":0", "zone=a", "0/lxd/1", "-1",
		"99999999999"} {
		if p, err := ParsePlacement(text); err == nil || err.Error() != fmt.Sprintf("invalid placement syntax %q", text) {
			t.Errorf("%q: got %+v, %v", text, p, err)
		}
	}
}

// A string option keeps its text as written in the bundle, even if it looks like a number or a date.
func TestStringOptionsAreAsWritten(t *testing.T) {
	for written, want := range map[string]string{"01182252": "01182252", "'01'": "01", "0x1F": "0x1F", "1_000": "1_000", "1:30": "1:30", "yes": "yes", "'on'": "on",
		"2012-04-26": "2012-04-26", "1e3": "1e3", "5": "5", "&x true": "true", `" hi\n"`: " hi\n", `"\n\nhi"`: "\n\nhi", "|2-\n\n         hi": "\n hi"} {
		b, err := Read(sources("applications:\n  web:\n    charm: ./web\n    options:\n      title: " + written + "\n")...)
		if err == nil {
			_, err = b.Verify(checks)
		}
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		text, err := b.Services["web"].OptionsYAML("web")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := charms["/charms/web"].Config.ParseSettingsYAML([]byte(text), "web"); err != nil || got["title"] != want {
			t.Errorf("%s: got %q, want %q: %v", written, got["title"], want, err)
		}
	}
}

// Read and Verify must not panic or hang, and must return consistent bundles.
func FuzzBundle(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range strings.Split(string(text), "=== ") {
			_, body, _ := strings.Cut(c, "\n")
			input, _, _ := strings.Cut(body, "\n=>\n")
			f.Add([]byte(input))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Read(sources(string(text))...)
		if err != nil {
			if all := (Errors)(nil); !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("not an Errors: %v", err)
			}
			return
		}
		relations, err := b.Verify(checks)
		if err != nil {
			return
		}
		for name, s := range b.Services {
			places := b.Placements(name)
			if len(places) != s.Units {
				t.Errorf("%s has %d units but %d placements", name, s.Units, len(places))
			}
			for _, p := range places[:min(len(places), 100)] {
				if again, err := ParsePlacement(p.String()); err != nil || p.Service != "" && again != p {
					t.Errorf("placement %+v is formatted as %s and parsed as %+v, %v", p, p, again, err)
				}
			}
			options, err := s.OptionsYAML(name)
			var back any
			if err == nil {
				err = yaml.Unmarshal([]byte(options), &back)
			}
			if err != nil {
				t.Errorf("options of %s: %v\n%s", name, err, options)
			}
			if _, err := json.Marshal(s.Annotations); err != nil {
				t.Error(err)
			}
		}
		for _, r := range relations {
			services := 0
			for _, end := range r {
				if _, remote := b.SAAS[end.Service]; b.Services[end.Service] != nil {
					services++
				} else if !remote || end.Name == "" {
					services = -1
				}
			}
			if r[0].Name == "" || r[1].Name == "" || services < 1 {
				t.Errorf("relation %v", r)
			}
		}
	})
}
