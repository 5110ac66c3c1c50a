package placement_test

import (
	"testing"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/placement"
)

// bound returns units that must have an address in space db, and none in space dmz.
func bound(m *modeltest.Model) placement.Units {
	doc := modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "db"}, {ID: "2", Name: "dmz"}}, Subnets: []modeldb.Subnet{
		{Subnet: entity.Subnet{ID: "1", CIDR: "10.1.0.0/16"}, Space: "1"}, {Subnet: entity.Subnet{ID: "2", CIDR: "10.2.0.0/16"}, Space: "2"}}}
	u, spaces := units(m, ""), doc.AllSpaces()
	u.Demand = placement.Demand{MachineSpaces: entity.MachineSpaces{In: spaces[1:2], Out: spaces[2:3]}, Networks: doc}
	return u
}

// Units go to machines that are where their service is bound, as far as that is known.
func TestDemand(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine modeldb.Machine
		own     string
		clean   bool   // a unit is placed there that the user leaves to the model
		refused string // or why one that the user sends there is not
	}{
		{"in the space", host("0", addresses("10.1.0.1")), "", true, ""},
		{"in another too", host("0", addresses("10.9.0.1", "10.1.0.1")), "", true, ""},
		{"in another", host("0", addresses("10.9.0.1")), "spaces=db,^dmz", false, `it has no address in space "db"`},
		{"in the one that is excluded", host("0", addresses("10.1.0.1", "10.2.0.1")), "spaces=db,^dmz", false,
			`it has the address 10.2.0.1 in space "dmz", which the constraints exclude`},
		{"without an address", host("0"), "", false, ""},
		{"requested", host("0"), "spaces=db,^dmz", true, ""},
		{"requested with more", host("0"), "spaces=web,db,^dmz,^lan", true, ""},
		{"only one requested", host("0"), "spaces=db", false, ""},
		{"only the other excluded", host("0"), "spaces=^dmz", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, c.machine)
			if c.own != "" {
				m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: c.own})
			}
			u := bound(m)
			places, err := u.Places(m.Ctx, nil, 1, nil)
			m.OK(err)
			modeltest.Same(t, "it suits", machines(places) == "0", c.clean)
			on, err := place(m, u, 1, at("0"))
			if c.refused != "" {
				m.Refused(err, entity.Invalid, `cannot assign unit of "mysql" to machine 0: `+c.refused)
				m.Refused(err, entity.Invalid, "juju show-application mysql, juju constraints mysql")
				return
			}
			m.OK(err)
			modeltest.Same(t, "the unit is on", on, "0")
		})
	}
}

// The addresses of a machine may change before the unit is there, and what it was requested to have.
func TestDemandsOfMachinesThatChangeMeanwhile(t *testing.T) {
	moves := func(m *modeltest.Model) { setMachine(m, "0", "addresses", []string{"10.9.0.1"}) }
	for _, c := range []struct {
		name    string
		machine modeldb.Machine
		to      entity.Placement
		change  func(m *modeltest.Model)
		want    string
		refused string
	}{
		{"a machine", host("0", addresses("10.1.0.1")), at("0"), moves, "", "it has no address in space"},
		{"a machine without an address", host("0"), at("0"), moves, "", "it has no address in space"},
		{"a clean machine", host("0", addresses("10.1.0.1")), entity.Placement{}, moves, "10", ""},
		{"a clean machine without an address", host("0"), entity.Placement{}, moves, "10", ""},
		{"a clean machine's constraints", host("0"), entity.Placement{}, func(m *modeltest.Model) {
			m.Put(modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "spaces=web"})
		}, "10", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newHosts(t, c.machine, modeldb.Constraints{Key: modeldb.MachineKey("0"), Value: "spaces=db,^dmz"})
			var on string
			err := m.Race(func() { c.change(m) }, func() (err error) {
				on, err = place(m, bound(m), 1, c.to)
				return err
			})
			if c.refused != "" {
				m.Refused(err, entity.Invalid, c.refused)
				return
			}
			m.OK(err)
			modeltest.Same(t, "the unit is on", on, c.want)
		})
	}
	t.Run("a service that is not bound", func(t *testing.T) {
		t.Parallel()
		m := newHosts(t, host("0", addresses("10.1.0.1")))
		m.Ignores(func() { moves(m) }, func() error {
			_, err := place(m, units(m, ""), 1, at("0"))
			return err
		})
	})
}
