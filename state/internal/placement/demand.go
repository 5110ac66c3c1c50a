package placement

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/networks"
)

// A Demand is what a service's constraints and bindings demand of its machines.
type Demand struct {
	entity.MachineSpaces
	Networks modeldb.Networks
}

// demands returns what the placement of a unit of a service on a machine asserts, or an error if the machine is known not to
// meet the demand.
func (u Units) demands(ctx context.Context, machine string) (bson.D, error) {
	d := u.Demand
	if d.IsEmpty() {
		return nil, nil
	}
	m, err := u.DB.Machine(ctx, machine)
	if why := networks.Misses(d.Networks, d.MachineSpaces, m.Addresses); err == nil && why != "" {
		err = entity.WithHint(entity.Errorf(entity.Invalid, "cannot assign unit of %q to machine %s: %s",
			u.Service.Name, machine, why),
			"To see to what the service is bound, and its constraints: juju show-application %s, juju constraints %[1]s",
			u.Service.Name)
	}
	return d.keeps(m), err
}

// keeps asserts that a machine has the same addresses as when it was read.
func (d Demand) keeps(m modeldb.Machine) bson.D {
	switch {
	case d.IsEmpty():
		return nil
	case len(m.Addresses) == 0:
		return bson.D{{"addresses", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"addresses", m.Addresses}}
}

// suits reports whether a machine that never had a unit, and was requested with the constraints own, meets the demand. One
// that has no addresses yet gets those that it was requested to have.
func (d Demand) suits(m modeldb.Machine, own constraints.Value) bool {
	if len(m.Addresses) > 0 || d.IsEmpty() {
		return networks.Misses(d.Networks, d.MachineSpaces, m.Addresses) == ""
	}
	in, out := own.Spaces()
	has := func(all []entity.Space, names []string) bool {
		return !slices.ContainsFunc(all, func(s entity.Space) bool { return !slices.Contains(names, s.Name) })
	}
	return has(d.In, in) && has(d.Out, out)
}
