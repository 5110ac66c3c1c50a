package placement

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// A clean is a machine that never had a unit, with what decides whether it suits a unit.
type clean struct {
	doc  modeldb.Machine
	said modeldb.Status
	own  string // its constraints
}

// clean returns the machines that never had a unit and suit the service, except those taken, containers, which
// were added for a specific placement, and machines in error, which may never start. State does not know whether the
// agent of a started machine is connected.
func (u Units) clean(ctx context.Context, taken []string) ([]clean, error) {
	machines, err := u.DB.Machines(ctx, bson.D{{"clean", true}, {"life", entity.Alive}, {"series", u.Service.Series},
		{"jobs", bson.D{{"$ne", modeldb.JobManageModel}}},
		{"container", bson.D{{"$exists", false}}}, {"upgrade", bson.D{{"$exists", false}}}, {"_id", bson.D{{"$nin", taken}}}})
	if err != nil {
		return nil, err
	}
	said, own, err := Beside(ctx, u.DB, machines)
	if err != nil {
		return nil, err
	}
	var all []clean
	for _, m := range machines {
		key := modeldb.MachineKey(m.ID)
		has, err := constraints.Parse(own[key])
		if err != nil {
			return nil, err
		}
		if said[key].Status != entity.StatusError && u.Constraints.MetBy(m.KnownHardware(), has) && u.Demand.suits(m, has) {
			all = append(all, clean{m, said[key], own[key]})
		}
	}
	return all, nil
}

// spread returns n of the machines, or all if there are fewer. It takes them in order from the zones in which the fewest
// machines have units of the service, like the provisioner distributes new machines. If zones are unknown, only the
// order matters.
func (u Units) spread(ctx context.Context, all []clean, n int) ([]clean, error) {
	if n >= len(all) {
		return all, nil
	}
	units, err := u.DB.Units(ctx, bson.D{{"service", u.Service.Name}})
	if err != nil {
		return nil, err
	}
	on := []string{}
	for _, one := range units {
		on = append(on, one.Machine)
	}
	hosts, err := u.DB.Machines(ctx, bson.D{{"_id", bson.D{{"$in", on}}}})
	if err != nil {
		return nil, err
	}
	used := map[string]int{} // how many of these machines are in a zone
	for _, m := range hosts {
		used[m.KnownHardware().Zone]++
	}
	rest := slices.Clone(all)
	for all = nil; len(all) < n; {
		next, least := 0, used[rest[0].zone()]
		for i, c := range rest {
			if use := used[c.zone()]; use < least {
				next, least = i, use
			}
		}
		used[rest[next].zone()]++
		all = append(all, rest[next])
		rest = slices.Delete(rest, next, next+1)
	}
	return all, nil
}

// zone returns the machine's zone, "" if unknown.
func (c clean) zone() string { return c.doc.KnownHardware().Zone }

// asRead returns what a unit with these constraints, or bound to a space, asserts about the machine's document, and adds the
// other assertions: that the machine still has no unit and has not changed since it was chosen.
func (c clean) asRead(o *modeltxn.Ops, demands constraints.Value, bound bool) bson.D {
	assert := bson.D{{"life", entity.Alive}, {"clean", true}}
	if c.said.Unset {
		o.Assert(modeldb.StatusesC, c.said.ID, txn.DocMissing)
	} else {
		o.Assert(modeldb.StatusesC, c.said.ID, bson.D{{"status", bson.D{{"$ne", entity.StatusError}}}})
	}
	if demands.IsEmpty() && !bound {
		return assert
	}
	key := modeldb.MachineKey(c.doc.ID)
	if c.own == "" {
		o.Assert(modeldb.ConstraintsC, key, txn.DocMissing)
	} else {
		o.Assert(modeldb.ConstraintsC, key, bson.D{{"value", c.own}})
	}
	if c.doc.Hardware != "" { // it is removed with the instance
		assert = append(assert, bson.DocElem{Name: "hardware", Value: c.doc.Hardware})
	}
	return assert
}
