package bundlechanges

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/charm/bundle"
	"juju/state/constraints"
	"juju/state/entity"
)

var update = flag.Bool("update", false, "write what the cases in testdata give")

// charms are the test's charms, by their paths.
func charms(t *testing.T) map[string]*charm.Charm {
	t.Helper()
	all := map[string]*charm.Charm{}
	for name, text := range map[string]string{
		"web": "requires: {store: kv}\nprovides: {site: http}", "store": "provides: {db: kv}",
		"old":    "series: [precise, trusty]",
		"log":    "subordinate: true\nrequires: {host: {interface: juju-info, scope: container}}",
		"single": "requires: {db: {interface: kv, limit: 1}, more: {interface: kv, limit: 1}}",
		"agent":  "subordinate: true\nseries: [focal, noble]\nrequires: {host: {interface: juju-info, scope: container}}",
	} {
		meta, err := charm.ParseMeta([]byte("name: " + name + "\nsummary: s\ndescription: d\n" + text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		config, err := charm.ParseConfig([]byte("options: {title: {type: string}, port: {type: int, default: 80}}"))
		if err != nil {
			t.Fatal(err)
		}
		all["./"+name] = &charm.Charm{Meta: meta, Config: config}
	}
	return all
}

// A situation is what the second part of a case says: what the model has, and what is known about
// the bundle.
type situation struct {
	Next     map[string]int
	Services map[string]struct {
		Life, Charm, Series string
		Exposed, Sub        bool
		Endpoints           entity.ExposedEndpoints `yaml:"exposed-endpoints"`
		Bindings            map[string]string
		Constraints         string
		Options             map[string]any
		Annotations         map[string]string
		Resources           map[string]string
		Storage             map[string]string
		Units               yaml.Node // name: machine
		Next                int
	}
	Machines map[string]struct {
		Life, Series string
		Annotations  map[string]string
	}
	Relations     [][]string
	Dying         [][]string                   // relations
	Series        map[string]string            // of new services
	MachineSeries map[string]string            `yaml:"machine-series"`
	Map           map[string]string            // of machines
	Resources     map[string]map[string]string // the sums of files, by service
	Other         []string                     // services with another charm
	URLs          map[string]string            // of charms that are in the model
	SAAS          map[string]Remote            `yaml:"saas"` // by name, with the fields in lower case
	Offers        map[string]Offer
	Declared      bool // the bundle is the whole model
}

func life(word string) entity.Life {
	if word == "" {
		return entity.Alive
	}
	return entity.Dying
}

func relationOf(ends []string) bundle.Relation {
	var r bundle.Relation
	for i, end := range ends {
		r[i].Service, r[i].Name, _ = strings.Cut(end, ":")
	}
	return r
}

// read returns the two sides that a case describes.
func read(t *testing.T, text, about string) (Wanted, *Model) {
	t.Helper()
	b, err := bundle.Read(bundle.Source{Name: "bundle.yaml", Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	var s situation
	if err := yaml.Unmarshal([]byte(about), &s); err != nil {
		t.Fatalf("%v\n%s", err, about)
	}
	w := Wanted{Bundle: b, Charms: map[string]*charm.Charm{}, Options: map[string]map[string]any{}, Series: s.Series,
		MachineSeries: s.MachineSeries, Machines: s.Map, SameCharm: map[string]bool{}, CharmURLs: s.URLs,
		Resources: s.Resources, Storage: map[string]map[string]entity.StorageConstraints{}}
	all := charms(t)
	w.Relations, err = b.Verify(bundle.Checks{
		Charm:       func(s *bundle.Service) (*charm.Charm, error) { return all[s.Charm], nil },
		Constraints: func(string) error { return nil }, Series: func(string) string { return "" },
		User: func(string) error { return nil },
		Offer: func(url string) (entity.Offer, error) {
			return entity.Offer{URL: "admin/" + url, Endpoints: []entity.RemoteEndpoint{{Name: "db", Role: "provider", Interface: "kv"}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, svc := range b.Services {
		w.Storage[name] = storage(t, svc.Storage)
		w.Charms[name], w.SameCharm[name] = all[svc.Charm], !slices.Contains(s.Other, name)
		if options, err := svc.OptionsYAML(name); err != nil {
			t.Fatal(err)
		} else if options != "" {
			if w.Options[name], err = all[svc.Charm].Config.ParseSettingsYAML([]byte(options), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := model(t, s)
	w.Owner = "admin"
	if s.Declared {
		w.Declare(m)
	}
	return w, m
}

func storage(t *testing.T, words map[string]string) map[string]entity.StorageConstraints {
	t.Helper()
	all := map[string]entity.StorageConstraints{}
	for store, text := range words {
		c, err := entity.ParseStorageConstraints(text)
		if err != nil {
			t.Fatal(err)
		}
		all[store] = c
	}
	return all
}

func model(t *testing.T, s situation) *Model {
	t.Helper()
	m := &Model{Services: map[string]*Service{}, Machines: map[string]*Machine{}, Relations: map[string]Relation{},
		SAAS: map[string]*Remote{}, Offers: map[string]*Offer{}, Next: s.Next}
	for name, r := range s.SAAS {
		r.Life = cmp.Or(r.Life, entity.Alive)
		m.SAAS[name] = &r
	}
	for name, o := range s.Offers {
		o.Life, o.Known = cmp.Or(o.Life, entity.Alive), true
		m.Offers[name] = &o
	}
	for id, machine := range s.Machines {
		m.Machines[id] = &Machine{Life: life(machine.Life), Series: machine.Series, Annotations: machine.Annotations}
	}
	for name, svc := range s.Services {
		c, err := constraints.Parse(svc.Constraints)
		if err != nil {
			t.Fatal(err)
		}
		have := &Service{Life: life(svc.Life), Bindings: svc.Bindings, CharmURL: svc.Charm, Series: svc.Series, Exposed: exposed(entity.ServiceStatus{Exposed: svc.Exposed, Endpoints: svc.Endpoints}),
			Subordinate: svc.Sub, Constraints: c, Annotations: svc.Annotations, NextUnit: svc.Next, Resources: svc.Resources,
			Storage: storage(t, svc.Storage),
			Options: map[string]entity.ConfigSetting{"title": {Source: entity.SourceUnset},
				"port": {Value: int64(80), Default: int64(80), Source: entity.SourceDefault}}}
		for option, value := range svc.Options {
			if n, ok := value.(int); ok {
				value = int64(n)
			}
			setting := have.Options[option]
			setting.Value, setting.Source = value, entity.SourceUser
			have.Options[option] = setting
		}
		for i := 0; i < len(svc.Units.Content); i += 2 {
			unit := Unit{svc.Units.Content[i].Value, svc.Units.Content[i+1].Value}
			have.Units = append(have.Units, unit)
			_, number, _ := strings.Cut(unit.Name, "/")
			if n, err := strconv.Atoi(number); err == nil && n >= have.NextUnit {
				have.NextUnit = n + 1
			}
		}
		m.Services[name] = have
	}
	for life, all := range map[entity.Life][][]string{entity.Alive: s.Relations, entity.Dying: s.Dying} {
		for _, ends := range all {
			r := relationOf(ends)
			m.Relations[r.Key()] = Relation{r, life}
		}
	}
	return m
}

func planned(w Wanted, m *Model) string {
	changes, warnings, err := Plan(w, m)
	var out strings.Builder
	for _, text := range warnings {
		fmt.Fprintln(&out, "warning:", text)
	}
	if err != nil {
		return out.String() + err.Error() + "\n"
	}
	for _, c := range changes {
		text := c.String()
		if c, ok := c.(*SetAnnotations); ok {
			text += fmt.Sprint(" ", c.Annotations)
		}
		if c, ok := c.(*AddUnit); ok && c.Own {
			text += " of its own"
		}
		fmt.Fprintln(&out, "-", text)
	}
	if len(changes) == 0 {
		fmt.Fprintln(&out, "no changes")
	}
	return out.String()
}

func differing(t *testing.T, w Wanted, m *Model) string {
	t.Helper()
	text, err := yaml.Marshal(Diff(w, m, true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The cases in testdata: a line "=== what it is about", the bundle, a line "+", the model, a line
// "=>" and the plan, or "=> diff" and the differences.
func TestCases(t *testing.T) {
	const file = "testdata/cases.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "=== ")
	fresh := head
	for _, c := range strings.Split(rest, "\n=== ") {
		about, body, _ := strings.Cut(c, "\n")
		input, want, ok := strings.Cut(body, "\n=>")
		if !ok {
			t.Fatalf("%s: no =>", about)
		}
		text, situation, _ := strings.Cut(input, "\n+\n")
		w, m := read(t, text+"\n", situation+"\n")
		got := "\n" + planned(w, m)
		if strings.HasPrefix(want, " diff") {
			got = " diff\n" + differing(t, w, m)
		}
		got = strings.TrimRight(got, "\n")
		fresh += "=== " + about + "\n" + input + "\n=>" + got + "\n\n"
		if strings.TrimRight(want, "\n") != got && !*update {
			t.Errorf("%s:\n%s\n\ngot%s\nwant%s", about, input, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(fresh, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
