package networks_test

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
)

func meta(t *testing.T, text string) *charm.Meta {
	t.Helper()
	m, err := charm.ParseMeta([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shown shows bindings: "=1 db=2".
func shown(bindings []modeldb.Binding) string {
	var texts []string
	for _, b := range bindings {
		texts = append(texts, b.Endpoint+"="+b.Space)
	}
	return strings.Join(texts, " ")
}

// Bindings are merged into those that there are; what is bound like the default follows it, and is not kept.
func TestMerge(t *testing.T) {
	t.Parallel()
	m := newModel(t, networked)
	for _, c := range []struct {
		was    modeldb.Service
		others map[string]string
		want   string
		uses   int64 // of the spaces: alpha is always there
	}{
		{bound(""), nil, "", 0},
		{bound(""), map[string]string{"": "alpha", "db": "alpha"}, "", 0},
		{bound(""), map[string]string{"": "db"}, "=1", 1},
		{bound(""), map[string]string{"db": "dmz"}, "db=2", 1},
		{bound("", "", "1"), map[string]string{"db": "db"}, "=1", 1},
		{bound("", "", "1"), map[string]string{"db": "alpha"}, "=1 db=0", 0},
		{bound("", "", "1", "db", "2"), map[string]string{"": "dmz"}, "=2", 1},
		{bound("", "", "1", "db", "2"), map[string]string{"": "alpha"}, "db=2", 0},
		{bound("", "db", "2"), map[string]string{"juju-info": "db"}, "db=2 juju-info=1", 1},
		{bound("", "old", "2"), map[string]string{"db": "db"}, "db=1 old=2", 1},
	} {
		before := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC)
		var got []modeldb.Binding
		if err := m.Change(m.Ctx, func(o *modeltxn.Ops) (err error) {
			got, err = networks.Merge(m.Ctx, m.DB, o, meta(t, webCharm), c.was.Bindings, c.others)
			return err
		}); err != nil || shown(got) != c.want {
			t.Errorf("%s with %v: %q (%v), want %q", shown(c.was.Bindings), c.others, shown(got), err, c.want)
		}
		after := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC)
		if after.Uses-before.Uses != c.uses || after.Version != before.Version {
			t.Errorf("%s with %v: it uses a space %d times", shown(c.was.Bindings), c.others, after.Uses-before.Uses)
		}
	}
	merge := func(others map[string]string) error {
		_, err := networks.Merge(m.Ctx, m.DB, &modeltxn.Ops{}, meta(t, webCharm), nil, others)
		return err
	}
	m.Refused(merge(map[string]string{"x": "db"}), entity.NotFound, `endpoint "x" not found`)
	m.Refused(merge(map[string]string{"x": "db"}), entity.NotFound, "The charm web has: db, site")
	m.Refused(merge(map[string]string{"db": "moon"}), entity.NotFound, `space "moon" not found`)
}

// What uses a space asserts that it stays; alpha, before the cloud has told any subnets, is the only one.
func TestUse(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	use := func(o *modeltxn.Ops) error {
		doc, err := m.Networks(m.Ctx)
		networks.Use(o, doc)
		return err
	}
	m.OK(m.RaceOps(func() { m.Put(networked) }, use))
	m.OK(m.RaceOps(func() { m.Set(modeldb.NetworksC, modeldb.NetworksC, bson.DocElem{Name: "version", Value: 9}) }, use))
}

func TestBindingsHaveNames(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	for _, c := range []struct {
		service modeldb.Service
		want    map[string]string
	}{
		{bound("web"), map[string]string{"": "alpha", "db": "alpha", "site": "alpha"}},
		{bound("web", "", "2", "db", "1"), map[string]string{"": "dmz", "db": "db", "site": "dmz"}},
		{bound("web", "db", "99"), map[string]string{"": "alpha", "db": "alpha", "site": "alpha"}},
	} {
		got, err := networks.Bindings(m.Ctx, m.DB, c.service, meta(t, webCharm))
		if m.OK(err); len(c.service.Bindings) == 0 {
			m.Put(networked)
		}
		modeltest.Same(t, "the bindings "+shown(c.service.Bindings), got, c.want)
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	kept, gone := networks.Usable(meta(t, webCharm), bound("", "", "1", "db", "1", "juju-info", "2", "old", "2").Bindings)
	modeltest.Same(t, "kept are", shown(kept), "=1 db=1 juju-info=2")
	modeltest.Same(t, "gone are", gone, []string{"old"})
	modeltest.Same(t, "bindings are set", networks.SetBindings(kept), bson.DocElem{Name: "$set", Value: bson.D{{"bindings", kept}}})
	modeltest.Same(t, "no bindings are", networks.SetBindings(nil).Name, "$unset")
}

// A service is bound to a space if its machines have an address there, as far as their addresses are known, or by force. Its
// units publish their addresses anew.
func TestBind(t *testing.T) {
	t.Parallel()
	docs := append(on("web/0", "0", "10.1.0.7", "10.0.0.7"), on("web/1", "1", "10.0.0.8")...)
	docs = append(docs, on("web/2", "2")...)
	docs = append(docs, on("web/10", "10", "10.0.0.9")...)
	docs = append(docs, on("other/0", "9", "10.0.0.9")...) // of no interest
	m := newModel(t, append(docs, networked, bound("web"), modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 4}})...)
	bind := func(force bool, bindings map[string]string) error {
		return networks.Bind(m.Ctx, m.DB, "web", bindings, force)
	}
	is := func(want string, cleanups ...string) {
		t.Helper()
		modeltest.Same(t, "bound are", shown(modeltest.Get[modeldb.Service](m, "web").Bindings), want)
		modeltest.Same(t, "to do is", m.CleanupsLeft(), cleanups)
	}
	err := bind(false, map[string]string{"db": "db"})
	m.Refused(err, entity.Invalid, `cannot bind service "web": machines without an address in space "db": 1, 10`)
	m.Refused(err, entity.Invalid, "--force")
	is("")
	m.OK(bind(true, map[string]string{"db": "db"}))
	is("db=1", "addresses web")
	// What was forced before does not bar others, and what stays as it is needs nothing.
	m.OK(bind(false, map[string]string{"db": "db"}))
	m.OK(bind(false, map[string]string{"site": "alpha"}))
	m.Refused(bind(false, map[string]string{"": "dmz"}), entity.Invalid, `without an address in space "dmz": 0, 1, 10`)
	m.OK(bind(false, map[string]string{"db": "alpha"}))
	is("", "addresses web")
	m.Kill(modeldb.ServicesC, "web", entity.Dying)
	m.Refused(bind(true, map[string]string{"db": "db"}), entity.NotAlive, `cannot bind service "web": service is not alive`)
	m.Refused(networks.Bind(m.Ctx, m.DB, "moon", nil, true), entity.NotFound, `cannot bind service "moon": service "moon" not found`)
}

// The machine of a subordinate is its principal's.
func TestBindSubordinate(t *testing.T) {
	t.Parallel()
	docs := append(on("web/0", "0", "10.0.0.7"), modeldb.Unit{Name: "log/0", Service: "log", Principal: "web/0"}, networked, bound("log"),
		modeltest.Counts{Key: "s#log", Of: map[string]int{"units": 1}})
	m := newModel(t, docs...)
	m.Refused(networks.Bind(m.Ctx, m.DB, "log", map[string]string{"": "db"}, false), entity.Invalid, `without an address in space "db": 0`)
	m.Set(modeldb.MachinesC, "0", bson.DocElem{Name: "addresses", Value: []string{"10.1.0.7"}})
	m.OK(networks.Bind(m.Ctx, m.DB, "log", map[string]string{"": "db"}, false))
}

// What a binding rests on is as it was read: the service, its charm, its bindings, its units and the spaces.
func TestBindIsOfWhatWasRead(t *testing.T) {
	set := func(collection, id, field string, value any) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Set(collection, id, bson.DocElem{Name: field, Value: value}) }
	}
	for name, c := range map[string]struct {
		between func(*modeltest.Model)
		want    string
		err     string
	}{
		"the service is destroyed": {set(modeldb.ServicesC, "web", "life", entity.Dying), "site=2", "service is not alive"},
		"it is bound elsewhere":    {set(modeldb.ServicesC, "web", "bindings", bound("", "db", "2").Bindings), "=1 db=2", ""},
		"it gets another charm":    {set(modeldb.ServicesC, "web", "charm", "local:gone-1"), "site=2", `charm "local:gone-1" not found`},
		"the space is removed": {func(m *modeltest.Model) {
			less := networked
			less.Spaces, less.Version = less.Spaces[1:], 4
			m.Put(less)
		}, "site=2", `space "db" not found`},
		"it gets another unit": {func(m *modeltest.Model) {
			m.Put(append(on("web/1", "1", "10.0.0.8"), modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 2}})...)
		}, "site=2", `machines without an address in space "db": 1`},
		"another unit takes the place of its one": {func(m *modeltest.Model) {
			m.Remove(modeldb.UnitsC, "web/0")
			m.Put(append(on("web/1", "1", "10.0.0.8"), modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 1}})...)
		}, "site=2", `machines without an address in space "db": 1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, append(on("web/0", "0", "10.1.0.7", "10.1.2.7"), networked, bound("web", "site", "2"),
				modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 1}})...)
			err := m.Race(func() { c.between(m) }, func() error {
				return networks.Bind(m.Ctx, m.DB, "web", map[string]string{"": "db", "site": "dmz"}, false)
			})
			if c.err == "" {
				m.OK(err)
			} else if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
			}
			if c.err == "" {
				c.want += " site=2"
			}
			modeltest.Same(t, "bound are", shown(modeltest.Get[modeldb.Service](m, "web").Bindings), c.want)
		})
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service   modeldb.Service
		addresses []string
		want      []string
	}{
		{bound("web", "", "1"), nil, nil},
		{bound("web", "", "1"), []string{"10.0.0.1"}, []string{"db"}},
		{bound("web", "", "1"), []string{"10.0.0.1", "10.1.0.1"}, nil},
		{bound("web", "", "1"), []string{"10.1.2.1"}, []string{"db"}}, // it is in the smaller subnet, of dmz
		{bound("web", "", "1", "db", "2", "site", "1"), []string{"10.0.0.1"}, []string{"db", "dmz"}},
		{bound("web", "", "1", "db", "0", "site", "99"), []string{"10.0.0.1"}, []string{"db"}},
	} {
		modeltest.Same(t, shown(c.service.Bindings)+fmt.Sprint(c.addresses),
			networks.Lacks(networked, c.service, modeldb.Machine{Addresses: c.addresses}), c.want)
	}
}

// An endpoint uses the first address in its space; one in alpha, or by force, the preferred one.
func TestAddressFor(t *testing.T) {
	t.Parallel()
	all := []string{"10.0.0.1", "10.1.0.1", "10.1.0.2"}
	for _, c := range []struct {
		service   modeldb.Service
		addresses []string
		want      string
		ok        bool
	}{
		{bound("web"), all, "10.0.0.1", true},
		{bound("web", "db", "1"), all, "10.1.0.1", true},
		{bound("web", "", "1", "db", "0"), all, "10.0.0.1", true},
		{bound("web", "", "99"), all, "10.0.0.1", true},
		{bound("web", "", "2"), all, "10.0.0.1", false},
		{bound("web", "", "1"), nil, "", false},
		{bound("web"), nil, "", false},
	} {
		if got, ok := networks.AddressFor(networked, c.service, "db", c.addresses); got != c.want || ok != c.ok {
			t.Errorf("%s of %v: %q, %v; want %q, %v", shown(c.service.Bindings), c.addresses, got, ok, c.want, c.ok)
		}
	}
}

// demanded shows demands: "db -dmz".
func demanded(want entity.MachineSpaces) string {
	var names []string
	for _, s := range want.In {
		names = append(names, s.Name+"/"+s.ID)
	}
	for _, s := range want.Out {
		names = append(names, "-"+s.Name+"/"+s.ID)
	}
	return strings.Join(names, " ")
}

func cons(t *testing.T, text string) constraints.Value {
	t.Helper()
	value, err := constraints.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Constraints and bindings demand spaces, each once.
func TestDemands(t *testing.T) {
	t.Parallel()
	m := newModel(t, networked)
	for _, c := range []struct {
		constraints string
		bound       []string
		want, err   string
	}{
		{"", nil, "", ""},
		{"spaces=dmz,db", nil, "db/1 dmz/2", ""},
		{"spaces=db,^dmz", []string{"db", "alpha"}, "db/1 -dmz/2", ""},
		{"spaces=^alpha", []string{"alpha"}, "-alpha/0", ""},
		{"", []string{"dmz", "db", "dmz"}, "db/1 dmz/2", ""},
		{"spaces=moon", nil, "", `space "moon" not found`},
		{"spaces=^moon", nil, "", `space "moon" not found`},
		{"spaces=^dmz", []string{"dmz"}, "", `space "dmz" is excluded by the constraints, and bound`},
		{"spaces=^dmz", []string{"dmz"}, "", "spaces=db,^dmz"},
	} {
		got, err := networks.Of(m.DB).Demands(m.Ctx, cons(t, c.constraints), c.bound)
		if c.err == "" {
			m.OK(err)
			modeltest.Same(t, "demanded are", demanded(got), c.want)
		} else if kind := entity.KindOf(err); err == nil || !strings.Contains(err.Error()+entity.Hint(err), c.err) ||
			kind != entity.NotFound && kind != entity.Invalid {
			t.Errorf("%s, bound to %v: got %v, want %s", c.constraints, c.bound, err, c.err)
		}
	}
	if _, err := networks.Demands(networked, cons(t, "spaces=db,^db"), nil); err != nil {
		m.Refused(err, entity.Invalid, `space "db" is excluded by the constraints, and demanded by the constraints`)
	}
}

// What is demanded stays until the transaction is made; where nothing is, the spaces may change.
func TestDemand(t *testing.T) {
	t.Parallel()
	m := newModel(t, networked)
	var got entity.MachineSpaces
	demand := func(text string, services ...modeldb.Service) func() error {
		return func() error {
			return m.Change(m.Ctx, func(o *modeltxn.Ops) error {
				var doc modeldb.Networks
				var err error
				if got, doc, err = networks.Demand(m.Ctx, m.DB, o, cons(t, text), services...); err == nil && len(doc.Subnets) != 4 {
					t.Errorf("the networks are %+v", doc)
				}
				o.Assert(modeldb.ModelC, modeldb.ModelC, modeltxn.Exists)
				return err
			})
		}
	}
	version := 10
	changes := func() {
		version++
		m.Set(modeldb.NetworksC, modeldb.NetworksC, bson.DocElem{Name: "version", Value: version})
	}
	m.OK(m.Race(changes, demand("spaces=^dmz", bound("a", "", "1"), bound("b", "db", "99"))))
	modeltest.Same(t, "demanded are", demanded(got), "db/1 -dmz/2")
	m.Ignores(changes, demand("mem=2G", bound("a"), bound("b", "db", "99")))
	m.Refused(demand("spaces=moon")(), entity.NotFound, `space "moon" not found`)
}

func TestMisses(t *testing.T) {
	t.Parallel()
	space := func(name string) []entity.Space {
		s, _ := networked.SpaceNamed(name)
		return []entity.Space{s}
	}
	for _, c := range []struct {
		want      entity.MachineSpaces
		addresses []string
		misses    string
	}{
		{entity.MachineSpaces{In: space("db")}, nil, ""},
		{entity.MachineSpaces{In: space("db")}, []string{"10.0.0.1", "10.1.0.1"}, ""},
		{entity.MachineSpaces{In: space("db")}, []string{"10.0.0.1"}, `it has no address in space "db"`},
		{entity.MachineSpaces{Out: space("dmz")}, []string{"10.0.0.1", "10.1.2.1"}, `it has the address 10.1.2.1 in space "dmz", which the constraints exclude`},
		{entity.MachineSpaces{Out: space("dmz")}, []string{"10.1.0.1"}, ""},
		{entity.MachineSpaces{Out: space("alpha")}, []string{"192.168.0.1"}, ""}, // in no subnet: a bridge of its own
		{entity.MachineSpaces{Out: space("alpha")}, []string{"10.0.0.1"}, `it has the address 10.0.0.1 in space "alpha", which the constraints exclude`},
	} {
		if got := networks.Misses(networked, c.want, c.addresses); got != c.misses {
			t.Errorf("%s of %v: %q, want %q", demanded(c.want), c.addresses, got, c.misses)
		}
	}
}
