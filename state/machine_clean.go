package state

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// A clean is a machine that never had a unit, with all that tells whether a unit may have it.
type clean struct {
	doc  modeldb.Machine
	said modeldb.Status
	own  string // its constraints
}

// cleanMachines returns the machines that never had a unit and suit the service, except those taken. A
// container does not count: it was added for what is to be placed in it. Nor does a machine in error, which
// may never start. Whether the agent of a started machine is there, state does not know.
func (s *Service) cleanMachines(ctx context.Context, want constraints.Value, taken []string) ([]clean, error) {
	machines, err := s.st.machines(bson.D{{"clean", true}, {"life", entity.Alive}, {"series", s.doc.Series},
		{"jobs", bson.D{{"$ne", modeldb.JobManageModel}}},
		{"container", bson.D{{"$exists", false}}}, {"_id", bson.D{{"$nin", notNil(taken)}}}})
	if err != nil {
		return nil, err
	}
	said, own, err := s.st.besideMachines(machines)
	if err != nil {
		return nil, err
	}
	var all []clean
	for _, m := range machines {
		key := modeldb.MachineKey(m.doc.ID)
		has, err := constraints.Parse(own[key])
		if err != nil {
			return nil, err
		}
		if said[key].Status != entity.StatusError && want.MetBy(m.doc.KnownHardware(), has) {
			all = append(all, clean{m.doc, said[key], own[key]})
		}
	}
	return all, nil
}

// spread returns n of the machines, or all if there are fewer. It takes them, in their order, from the zones
// in which the fewest machines have units of the service, as the provisioner spreads new machines. Where zones
// are not known, the order decides.
func (s *Service) spread(all []clean, n int) ([]clean, error) {
	if n >= len(all) {
		return all, nil
	}
	units, err := s.st.units(bson.D{{"service", s.doc.Name}})
	if err != nil {
		return nil, err
	}
	var on []string
	for _, u := range units {
		on = append(on, u.doc.Machine)
	}
	hosts, err := s.st.machines(bson.D{{"_id", bson.D{{"$in", notNil(on)}}}})
	if err != nil {
		return nil, err
	}
	used := map[string]int{} // how many of these machines are in a zone
	for _, m := range hosts {
		used[m.doc.KnownHardware().Zone]++
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

// zone returns the zone that the machine is in, "" if that is not known.
func (c clean) zone() string { return c.doc.KnownHardware().Zone }

// asRead returns what a unit with these constraints asserts of the machine, and asserts the rest: that no
// unit came before it, and that the machine is as it was when it was chosen.
func (c clean) asRead(o *ops, demands constraints.Value) bson.D {
	assert := bson.D{{"life", entity.Alive}, {"clean", true}}
	if c.said.Unset {
		o.Assert(modeldb.StatusesC, c.said.ID, txn.DocMissing)
	} else {
		o.Assert(modeldb.StatusesC, c.said.ID, bson.D{{"status", bson.D{{"$ne", entity.StatusError}}}})
	}
	if demands.IsEmpty() {
		return assert
	}
	key := modeldb.MachineKey(c.doc.ID)
	if c.own == "" {
		o.Assert(modeldb.ConstraintsC, key, txn.DocMissing)
	} else {
		o.Assert(modeldb.ConstraintsC, key, bson.D{{"value", c.own}})
	}
	if c.doc.Hardware != "" { // it goes with the instance
		assert = append(assert, bson.DocElem{Name: "hardware", Value: c.doc.Hardware})
	}
	return assert
}
