package networks_test

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/networks"
)

// networked are the spaces db (1) and dmz (2), with one subnet each, one in another, and one of alpha.
var networked = modeldb.Networks{ID: modeldb.NetworksC, Last: 6, Version: 3, Uses: 4,
	Spaces: []modeldb.Space{{ID: "1", Name: "db"}, {ID: "2", Name: "dmz"}}, Subnets: []modeldb.Subnet{
		{Subnet: entity.Subnet{ID: "3", CIDR: "10.0.0.0/16", ProviderID: "p3", Network: "net", Zones: []string{"a"}}, Space: entity.AlphaSpaceID},
		{Subnet: entity.Subnet{ID: "4", CIDR: "10.1.0.0/16"}, Space: "1"},
		{Subnet: entity.Subnet{ID: "5", CIDR: "10.1.2.0/24"}, Space: "2"},
		{Subnet: entity.Subnet{ID: "6", CIDR: "10.2.0.0/16"}, Space: "2"}}}

// bound is an Alive service whose endpoints are bound to spaces by their ids: "", "1" binds all to db.
func bound(name string, bindings ...string) modeldb.Service {
	s := modeldb.Service{Name: name, CharmURL: "local:web-1"}
	for i := 0; i < len(bindings); i += 2 {
		s.Bindings = append(s.Bindings, modeldb.Binding{Endpoint: bindings[i], Space: bindings[i+1]})
	}
	return s
}

const webCharm = `{name: web, summary: s, description: d, provides: {site: {interface: http}}, requires: {db: {interface: mysql}}}`

func newModel(t *testing.T, docs ...any) *modeltest.Model {
	t.Helper()
	m := modeltest.New(t, docs...)
	m.PutCharm("local:web-1", webCharm)
	return m
}

// on are a unit and its machine, with addresses.
func on(unit, machine string, addresses ...string) []any {
	return []any{modeldb.Unit{Name: unit, Service: entity.UnitService(unit), Machine: machine},
		modeldb.Machine{ID: machine, Addresses: addresses}}
}

// spaces returns the spaces with their subnets: "alpha: 10.0.0.0/16; db: 10.1.0.0/16".
func spaces(m *modeltest.Model) string {
	all, err := networks.Of(m.DB).Spaces(m.Ctx)
	m.OK(err)
	var texts []string
	for _, space := range all {
		text := space.Name + ":"
		for _, subnet := range space.Subnets {
			text += " " + subnet.CIDR
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func subnets(cidrs ...string) (all []entity.Subnet) {
	for _, cidr := range cidrs {
		all = append(all, entity.Subnet{CIDR: cidr})
	}
	return all
}

// Subnets are known once the cloud has told them, and keep their ids and spaces for as long as it tells them.
func TestReload(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	n := networks.Of(m.DB)
	known := func(want bool) {
		t.Helper()
		if got, err := n.Known(m.Ctx); got != want || err != nil {
			t.Errorf("known: %v, %v", got, err)
		}
	}
	known(false)
	modeltest.Same(t, "before the cloud has told any, there are", spaces(m), "alpha:")
	m.OK(n.Reload(m.Ctx, nil))
	known(true)
	if doc := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC); doc.Version != 1 || doc.Last != 0 {
		t.Errorf("the first document is %+v", doc)
	}
	m.Put(networked)
	told := append([]entity.Subnet{{CIDR: "10.0.0.0/16", ProviderID: "p3", Network: "net", Zones: []string{"a"}}},
		subnets("10.1.0.0/16", "10.1.2.0/24", "10.2.0.0/16")...)
	m.OK(n.Reload(m.Ctx, told))
	modeltest.Same(t, "told the same, there are", modeltest.Get[modeldb.Networks](m, modeldb.NetworksC), networked)
	for field, change := range map[string]func(*entity.Subnet){
		"id": func(s *entity.Subnet) { s.ProviderID = "p9" }, "network": func(s *entity.Subnet) { s.Network = "other" },
		"zones": func(s *entity.Subnet) { s.Zones = []string{"a", "b"} }} {
		m.Put(networked)
		other := append([]entity.Subnet(nil), told...)
		change(&other[0])
		m.OK(n.Reload(m.Ctx, other))
		doc := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC)
		other[0].ID = "3"
		modeltest.Same(t, "with another "+field+", the subnet is", doc.Subnets[0], modeldb.Subnet{Subnet: other[0], Space: entity.AlphaSpaceID})
		if doc.Version != 4 {
			t.Errorf("the version is %d", doc.Version)
		}
	}
	m.OK(n.Reload(m.Ctx, subnets("10.1.0.0/16", "10.9.0.0/16")))
	doc := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC)
	modeltest.Same(t, "the subnets", doc.Subnets, []modeldb.Subnet{
		{Subnet: entity.Subnet{ID: "4", CIDR: "10.1.0.0/16"}, Space: "1"}, {Subnet: entity.Subnet{ID: "7", CIDR: "10.9.0.0/16"}, Space: entity.AlphaSpaceID}})
	var many []string
	for i := range 2001 {
		many = append(many, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
	}
	m.OK(n.Reload(m.Ctx, subnets(many[:2000]...)))
	m.Refused(n.Reload(m.Ctx, subnets(many...)), entity.Invalid, "subnets of a model: 2001 subnets, the limit is 2000")
}

func TestSpaces(t *testing.T) {
	t.Parallel()
	m := newModel(t, networked)
	n := networks.Of(m.DB)
	m.OK(n.AddSpace(m.Ctx, "new", []string{"10.1.0.9/16", "10.2.0.0/16"})) // an address names its network
	modeltest.Same(t, "there are", spaces(m), "alpha: 10.0.0.0/16; db:; dmz: 10.1.2.0/24; new: 10.1.0.0/16 10.2.0.0/16")
	if doc := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC); doc.Last != 7 || doc.Spaces[2].ID != "7" {
		t.Errorf("the space has the id %s, and the last is %d", doc.Spaces[2].ID, doc.Last)
	}
	moved, err := n.MoveSubnets(m.Ctx, "dmz", []string{"10.0.0.0/16", "10.1.2.0/24", "10.2.0.0/16"}, false)
	m.OK(err)
	modeltest.Same(t, "moved are", moved, []entity.MovedSubnet{{CIDR: "10.0.0.0/16", From: "alpha", To: "dmz"},
		{CIDR: "10.2.0.0/16", From: "new", To: "dmz"}})
	version := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC).Version
	moved, err = n.MoveSubnets(m.Ctx, "dmz", []string{"10.0.0.0/16"}, false)
	if m.OK(err); len(moved) > 0 || modeltest.Get[modeldb.Networks](m, modeldb.NetworksC).Version != version {
		t.Errorf("a subnet that is there was moved: %v", moved)
	}
	m.OK(n.RenameSpace(m.Ctx, "new", "newer"))
	m.OK(n.RemoveSpace(m.Ctx, "dmz", false))
	modeltest.Same(t, "there are", spaces(m), "alpha: 10.0.0.0/16 10.1.2.0/24 10.2.0.0/16; db:; newer: 10.1.0.0/16")
	_, moveTo := n.MoveSubnets(m.Ctx, "moon", nil, false)
	_, moveWhat := n.MoveSubnets(m.Ctx, "db", []string{"10.77.0.0/16"}, false)
	_, uses := n.Uses(m.Ctx, "moon")
	for _, c := range []struct {
		err  error
		kind entity.Kind
		want string
	}{
		{n.AddSpace(m.Ctx, "db", nil), entity.AlreadyExists, `cannot add space "db": space "db" already exists`},
		{n.AddSpace(m.Ctx, "alpha", nil), entity.AlreadyExists, `cannot add space "alpha": space "alpha" already exists`},
		{n.AddSpace(m.Ctx, "D", nil), entity.Invalid, `cannot add space "D": "D" is not a valid space name`},
		{n.AddSpace(m.Ctx, "D", nil), entity.Invalid, "small letters, digits and single hyphens"},
		{n.AddSpace(m.Ctx, "x", []string{"10.9.0.0/16"}), entity.NotFound, `cannot add space "x": subnet "10.9.0.0/16" not found`},
		{n.AddSpace(m.Ctx, "x", []string{"10.9.0.0/16"}), entity.NotFound, "juju reload-spaces"},
		{n.AddSpace(m.Ctx, "x", []string{"ten"}), entity.Invalid, `cannot add space "x": "ten" is not a valid CIDR`},
		{n.RenameSpace(m.Ctx, "alpha", "x"), entity.NotSupported, `cannot rename space "alpha": the "alpha" space cannot be renamed`},
		{n.RenameSpace(m.Ctx, "db", "newer"), entity.AlreadyExists, `cannot rename space "db": space "newer" already exists`},
		{n.RenameSpace(m.Ctx, "db", "D"), entity.Invalid, `"D" is not a valid space name`},
		{n.RenameSpace(m.Ctx, "moon", "y"), entity.NotFound, `cannot rename space "moon": space "moon" not found`},
		{n.RemoveSpace(m.Ctx, "alpha", true), entity.NotSupported, `cannot remove space "alpha": the "alpha" space cannot be removed`},
		{n.RemoveSpace(m.Ctx, "moon", false), entity.NotFound, "juju add-space moon"},
		{moveTo, entity.NotFound, `cannot move subnets to space "moon": space "moon" not found`},
		{moveWhat, entity.NotFound, `cannot move subnets to space "db": subnet "10.77.0.0/16" not found`},
		{uses, entity.NotFound, `space "moon" not found`},
	} {
		m.Refused(c.err, c.kind, c.want)
	}
	many := modeltest.Get[modeldb.Networks](m, modeldb.NetworksC)
	for i := range 198 {
		many.Spaces = append(many.Spaces, modeldb.Space{ID: fmt.Sprint(100 + i), Name: fmt.Sprint("s", i)})
	}
	m.Put(many)
	m.Refused(n.AddSpace(m.Ctx, "x", nil), entity.Invalid, "spaces of a model: 201 spaces, the limit is 200")
	m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying)
	m.Refused(n.RemoveSpace(m.Ctx, "db", false), entity.NotAlive, `model "default" is no longer alive`)
}

// A change is made to the networks as they are, of an Alive model.
func TestChangesAreOfWhatWasRead(t *testing.T) {
	add := func(m *modeltest.Model) error { return networks.Of(m.DB).AddSpace(m.Ctx, "x", nil) }
	rename := func(m *modeltest.Model) error { return networks.Of(m.DB).RenameSpace(m.Ctx, "db", "data") }
	remove := func(force bool) func(m *modeltest.Model) error {
		return func(m *modeltest.Model) error { return networks.Of(m.DB).RemoveSpace(m.Ctx, "db", force) }
	}
	move := func(m *modeltest.Model) error {
		_, err := networks.Of(m.DB).MoveSubnets(m.Ctx, "alpha", []string{"10.1.0.0/16"}, false)
		return err
	}
	set := func(collection, id, field string, value any) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Set(collection, id, bson.DocElem{Name: field, Value: value}) }
	}
	uses := set(modeldb.NetworksC, modeldb.NetworksC, "uses", 5)
	exposed := modeldb.Service{Name: "shown", CharmURL: "local:web-1", Exposures: []modeldb.Exposed{{Endpoint: "site",
		ExposedTo: entity.ExposedTo{Spaces: []string{"db"}}}}}
	unexposed := exposed
	unexposed.Exposures = nil
	constrained := modeldb.Constraints{Key: "s#web", Value: "spaces=db"}
	for _, c := range []struct {
		name    string
		docs    []any
		call    func(*modeltest.Model) error
		between func(*modeltest.Model)
		err     string
	}{
		{"the model is destroyed", nil, add, set(modeldb.ModelC, modeldb.ModelC, "life", entity.Dying), "no longer alive"},
		{"another adds the first space", nil, add, func(m *modeltest.Model) { m.Put(networked) }, ""},
		{"another changes them", []any{networked}, add, set(modeldb.NetworksC, modeldb.NetworksC, "version", 4), ""},
		{"something uses a space that is renamed", []any{networked}, rename, uses, ""},
		{"something uses a space that is removed", []any{networked}, remove(false), uses, ""},
		{"a service is bound to it", []any{networked, bound("web", "", "1")}, remove(true),
			func(m *modeltest.Model) { m.Put(bound("web", "db", "1")) }, ""},
		{"what is exposed changes as the space is renamed", []any{networked, exposed}, rename, func(m *modeltest.Model) { m.Put(unexposed) }, ""},
		{"what is exposed changes as the space is removed", []any{networked, exposed}, remove(true), func(m *modeltest.Model) { m.Put(unexposed) }, ""},
		{"constraints change as the space is renamed", []any{networked, constrained}, rename, set(modeldb.ConstraintsC, "s#web", "value", "spaces=^db"), ""},
		{"the model's change", []any{networked, modeldb.Model{ID: "model", Constraints: "spaces=db"}}, rename,
			set(modeldb.ModelC, modeldb.ModelC, "constraints", "spaces=^db"), ""},
		{"a unit is added to a service with bindings", append(on("web/0", "0", "10.1.0.7", "10.0.0.7"), networked, bound("web", "", "2"),
			modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 1}}), move, func(m *modeltest.Model) {
			m.Put(append(on("web/1", "1", "10.2.0.9"), modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 2}})...)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, c.docs...)
			err := m.Race(func() { c.between(m) }, func() error { return c.call(m) })
			if c.err == "" {
				m.OK(err)
			} else {
				m.Refused(err, entity.NotAlive, c.err)
			}
		})
	}
}

// What names a space keeps it from being removed, and names it by its new name once it is renamed. By force, it no longer
// names it: bindings become alpha's, and what was exposed to nothing else is exposed no more.
func TestSpacesInUse(t *testing.T) {
	t.Parallel()
	docs := append(on("web/0", "0", "10.1.0.7"), networked, bound("web", "", "2", "db", "1"), bound("all", "", "1"), bound("free"),
		modeldb.Machine{ID: "1", Addresses: []string{"10.0.0.8", "10.1.0.8"}}, modeldb.Machine{ID: "2", Addresses: []string{"10.1.2.8"}},
		modeldb.Model{ID: modeldb.ModelC, Name: "default", Constraints: "mem=2048M spaces=db,^dmz"},
		modeldb.Constraints{Key: "s#web", Value: "spaces=^db"}, modeldb.Constraints{Key: "s#free", Value: "spaces=dmz"},
		modeldb.Constraints{Key: "m#1", Value: "spaces=db"}, modeldb.Constraints{Key: "m#2", Value: "spaces=db"}, modeldb.Constraints{Key: "s#old", Value: "mem=2G"},
		modeldb.Service{Name: "shown", CharmURL: "local:web-1", Exposures: []modeldb.Exposed{
			{Endpoint: "db", ExposedTo: entity.ExposedTo{Spaces: []string{"db", "dmz"}}},
			{Endpoint: "site", ExposedTo: entity.ExposedTo{CIDRs: []string{"10.0.0.0/8"}, Spaces: []string{"db"}}},
			{Endpoint: "x", ExposedTo: entity.ExposedTo{Spaces: []string{"db"}}}}})
	m := newModel(t, docs...)
	n := networks.Of(m.DB)
	use, err := n.Uses(m.Ctx, "db")
	m.OK(err)
	modeltest.Same(t, "used", use, entity.SpaceUse{Bound: []string{"all", "web"}, Machines: 2,
		Constrained: []entity.Tag{entity.ModelTag(modeltest.UUID), entity.ServiceTag("web")}})
	err = n.RemoveSpace(m.Ctx, "db", false)
	m.Refused(err, entity.InUse, `cannot remove space "db": it is used by the bindings of all, web and by the constraints of the model, web`)
	m.Refused(err, entity.InUse, "juju remove-space db --force")
	shown := func() string { return modeltest.Get[modeldb.Service](m, "shown").ExposedEndpoints().String() }
	constraints := func() string {
		text := modeltest.Get[modeldb.Model](m, modeldb.ModelC).Constraints
		for _, c := range modeltest.All[modeldb.Constraints](m) {
			text += "; " + c.Key + " " + c.Value
		}
		return text
	}
	m.OK(n.RenameSpace(m.Ctx, "db", "data"))
	modeltest.Same(t, "exposed is", shown(), "db to spaces data and dmz, site to space data and CIDR 10.0.0.0/8, x to space data")
	modeltest.Same(t, "constraints are", constraints(), "mem=2048M spaces=data,^dmz; m#1 spaces=data; m#2 spaces=data; s#free spaces=dmz; s#old mem=2G; s#web spaces=^data")
	if doc := modeltest.Get[modeldb.Service](m, "web"); len(doc.Bindings) != 2 || len(m.CleanupsLeft()) > 0 {
		t.Errorf("the bindings are %v, and %v is to be done", doc.Bindings, m.CleanupsLeft())
	}
	m.Set(modeldb.ModelC, modeldb.ModelC, bson.DocElem{Name: "constraints", Value: ""})
	for _, key := range []string{"s#web", "m#1", "m#2"} {
		m.Remove(modeldb.ConstraintsC, key)
	}
	err = n.RemoveSpace(m.Ctx, "data", false)
	if m.Refused(err, entity.InUse, "it is used by the bindings of all, web"); strings.Contains(err.Error(), "constraints") {
		t.Errorf("no constraint names it: %v", err)
	}
	m.Put(bound("all"), bound("web", "", "2"), modeldb.Constraints{Key: "s#web", Value: "spaces=^data"})
	m.Refused(n.RemoveSpace(m.Ctx, "data", false), entity.InUse, "it is used by the constraints of web")
	m.Remove(modeldb.ConstraintsC, "s#web")
	err = n.RemoveSpace(m.Ctx, "data", false)
	m.Refused(err, entity.InUse, `service "shown" is exposed to it`)
	m.Refused(err, entity.InUse, "juju unexpose")
	m.Put(bound("all", "", "1"), bound("web", "", "2", "db", "1"), modeldb.Constraints{Key: "s#web", Value: "mem=1024M spaces=^data"})
	m.OK(n.RemoveSpace(m.Ctx, "data", true))
	modeltest.Same(t, "exposed is", shown(), "db to space dmz, site to CIDR 10.0.0.0/8")
	modeltest.Same(t, "constraints are", constraints(), "; s#free spaces=dmz; s#old mem=2G; s#web mem=1024M")
	modeltest.Same(t, "bindings", [][]modeldb.Binding{modeltest.Get[modeldb.Service](m, "all").Bindings, modeltest.Get[modeldb.Service](m, "web").Bindings},
		[][]modeldb.Binding{nil, {{Endpoint: "", Space: "2"}}})
	modeltest.Same(t, "there are", spaces(m), "alpha: 10.0.0.0/16 10.1.0.0/16; dmz: 10.1.2.0/24 10.2.0.0/16")
	// The units of both publish their addresses anew; "all" has its bindings no more, but had when the subnets moved.
	modeltest.Same(t, "to do is", m.CleanupsLeft(), []string{"addresses all", "addresses web"})
}

// Alpha is used by services without bindings, and by those that are bound to what is gone.
func TestUsesOfAlpha(t *testing.T) {
	t.Parallel()
	m := newModel(t, networked, bound("free"), bound("all", "", "1"), bound("gone", "", "77"), bound("some", "", "1", "db", "0"))
	use, err := networks.Of(m.DB).Uses(m.Ctx, "alpha")
	m.OK(err)
	modeltest.Same(t, "alpha is used by", use.Bound, []string{"free", "gone", "some"})
}

// Subnets are not taken from a machine whose service is bound to their space, but by force, or if the machine has no address
// there anyway. The units publish their addresses anew.
func TestMovedSubnetsLeaveNoServiceBehind(t *testing.T) {
	t.Parallel()
	docs := append(on("web/0", "0", "10.1.0.7"), on("web/1", "1", "10.1.0.8")...)
	docs = append(docs, on("web/2", "2")...)
	m := newModel(t, append(append(docs, on("free/0", "3", "10.1.0.9")...), networked, bound("web", "", "1"), bound("free"),
		modeltest.Counts{Key: "s#web", Of: map[string]int{"units": 3}})...)
	n := networks.Of(m.DB)
	move := func(force bool) error {
		_, err := n.MoveSubnets(m.Ctx, "alpha", []string{"10.1.0.0/16"}, force)
		return err
	}
	m.Refused(move(false), entity.Invalid,
		`cannot move subnets to space "alpha": service "web" would be on machines without an address in space "db": 0, 1`)
	m.OK(n.AddSpace(m.Ctx, "x", nil)) // it moves nothing
	modeltest.Same(t, "to do is", len(m.CleanupsLeft()), 0)
	m.OK(move(true))
	modeltest.Same(t, "to do is", m.CleanupsLeft(), []string{"addresses web"})
	// Neither has one now: what else is moved does not matter.
	_, err := n.MoveSubnets(m.Ctx, "alpha", []string{"10.1.2.0/24"}, false)
	m.OK(err)
	_, err = n.MoveSubnets(m.Ctx, "db", []string{"10.1.0.0/16"}, false)
	m.OK(err)
}

// Machines that never had a unit are counted, if they are known to be where they are wanted.
func TestUnused(t *testing.T) {
	t.Parallel()
	clean := func(id string, addresses ...string) modeldb.Machine {
		return modeldb.Machine{ID: id, Clean: true, Addresses: addresses}
	}
	dying, container := clean("5", "10.1.0.5"), clean("6/lxd/0", "10.1.0.6")
	dying.Life, container.Container = entity.Dying, "lxd"
	m := newModel(t, networked, clean("0", "10.1.0.1"), clean("1", "10.0.0.1", "10.1.0.2"), clean("2", "10.0.0.3"), clean("3"), clean("8"),
		modeldb.Machine{ID: "4", Addresses: []string{"10.1.0.4"}}, dying, container)
	want := entity.MachineSpaces{In: []entity.Space{{ID: "1", Name: "db"}}}
	if n, err := networks.Of(m.DB).Unused(m.Ctx, want); n != 2 || err != nil {
		t.Errorf("%d are, %v; want 2", n, err)
	}
}
