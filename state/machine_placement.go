package state

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
)

// A place is where a new unit is placed: an existing machine, a new machine or a new container.
type place struct {
	at      entity.Placement // the user's
	machine string           // its id; "" until it has one
	isNew   bool             // a machine that is added for the unit
	clean   *clean           // the machine, if it was chosen because it never had a unit
	keeps   bson.D           // asserts the addresses by which an existing machine meets the service's demands for spaces
	host    string           // a container's machine, once it is known
}

// checkUnits rejects more placements than units, and storage to attach to more than one unit.
func checkUnits(n int, placement []entity.Placement, attach []string) error {
	if len(attach) > 0 && n > 1 {
		return entity.Errorf(entity.Invalid, "cannot attach storage to more than one unit")
	}
	if len(placement) <= n {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "more placements than units: %d for %d", len(placement), n),
		"Give each unit at most one placement, or ask for more units: -n %d", len(placement))
}

// places finds a place for each of n units, on machines that meet the demand for spaces. It reuses the ids of the last
// attempt's places.
func (s *Service) places(ctx context.Context, last []place, n int, placement []entity.Placement,
	constraints constraints.Value, want demand) ([]place, error) {
	all := make([]place, n)
	var open []*place // which the user leaves to the model
	var taken []string
	for i := range all {
		p := &all[i]
		if i < len(placement) {
			p.at = placement[i]
		}
		if p.at == (entity.Placement{}) {
			open = append(open, p)
			continue
		}
		err := s.st.checkPlace(ctx, p.at, s.doc.Name, s.doc.Series)
		switch {
		case p.at.Container != "":
			if i < len(last) {
				p.machine, p.host = last[i].machine, last[i].host
			}
		case p.at.Machine == "":
			p.isNew = true
		case err == nil:
			p.machine = p.at.Machine
			p.keeps, err = want.check(ctx, s, p.machine)
		}
		if err != nil {
			return nil, err
		}
		taken = append(taken, p.machine, p.at.Machine)
	}
	if len(open) > 0 {
		clean, err := s.cleanMachines(ctx, constraints, want, taken)
		if err != nil {
			return nil, err
		}
		if clean, err = s.spread(ctx, clean, len(open)); err != nil {
			return nil, err
		}
		for i, c := range clean {
			*open[i] = place{machine: c.doc.ID, clean: &c, keeps: want.keeps(c.doc)}
		}
		for _, p := range open[len(clean):] {
			p.isNew = true
		}
	}
	return all, s.st.numberPlaces(ctx, last, all)
}

// numberPlaces assigns ids to new machines, reusing those of the last attempt.
func (st *State) numberPlaces(ctx context.Context, last, all []place) error {
	var ids []string
	for _, p := range last {
		if p.isNew {
			ids = append(ids, p.machine)
		}
	}
	missing := -len(ids)
	for _, p := range all {
		if p.isNew {
			missing++
		}
	}
	if missing > 0 {
		first, err := st.db.Next(ctx, modeldb.MachineSequence, missing)
		if err != nil {
			return err
		}
		for i := range missing {
			ids = append(ids, strconv.Itoa(first+i))
		}
	}
	for i := range all {
		if all[i].isNew {
			all[i].machine, ids = ids[0], ids[1:]
		}
	}
	return nil
}

// checkPlace rejects a placement that is invalid for a unit of a service.
func (st *State) checkPlace(ctx context.Context, at entity.Placement, service, series string) error {
	switch {
	case at.Manual != "":
		return entity.WithHint(entity.Errorf(entity.Invalid, "cannot assign unit of %q to %s: it is not a machine of the model", service, at),
			"Add the host, then specify its machine: juju add-machine %s", at)
	case at.Machine == "":
		return nil
	case at.Container != "":
		if err := st.checkHost(ctx, at.Machine, at.Container); err != nil {
			return fmt.Errorf("cannot assign unit of %q to a container: %w", service, err)
		}
		return nil
	}
	fail := func(err error) error {
		return fmt.Errorf("cannot assign unit of %q to machine %s: %w", service, at.Machine, err)
	}
	m, err := st.Machine(ctx, at.Machine)
	switch {
	case err != nil:
		return fail(err)
	case m.doc.Life != entity.Alive:
		return fail(entity.Errorf(entity.NotAlive, "machine is not alive"))
	case m.doc.Series != series:
		return fail(entity.Errorf(entity.Invalid, "series does not match"))
	case m.IsManager():
		return fail(entity.Errorf(entity.Invalid, "machine %q cannot host units", at.Machine))
	case m.doc.Upgrade != nil:
		return fail(m.isLocked())
	}
	return nil
}

// isLocked is the error for what would be placed on the machine while its operating system is upgraded.
func (m *Machine) isLocked() error {
	return entity.WithHint(entity.Errorf(entity.Invalid, "the operating system of machine %s is being upgraded", m.doc.ID),
		"Complete the upgrade first: juju upgrade-machine %s complete", m.doc.ID)
}

// A demand is what a service's constraints and bindings demand of its machines.
type demand struct {
	entity.MachineSpaces
	networks modeldb.Networks
}

// check returns what the placement of a unit of a service on a machine asserts, or an error if the machine is known not to
// meet the demand.
func (d demand) check(ctx context.Context, s *Service, machine string) (bson.D, error) {
	if d.IsEmpty() {
		return nil, nil
	}
	m, err := s.st.db.Machine(ctx, machine)
	if why := networks.Misses(d.networks, d.MachineSpaces, m.Addresses); err == nil && why != "" {
		err = entity.WithHint(entity.Errorf(entity.Invalid, "cannot assign unit of %q to machine %s: %s", s.doc.Name, machine, why),
			"To see to what the service is bound, and its constraints: juju show-application %s, juju constraints %[1]s", s.doc.Name)
	}
	return d.keeps(m), err
}

// keeps asserts that a machine has the same addresses as when it was read.
func (d demand) keeps(m modeldb.Machine) bson.D {
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
func (d demand) suits(m modeldb.Machine, own constraints.Value) bool {
	if len(m.Addresses) > 0 || d.IsEmpty() {
		return networks.Misses(d.networks, d.MachineSpaces, m.Addresses) == ""
	}
	in, out := own.Spaces()
	has := func(all []entity.Space, names []string) bool {
		return !slices.ContainsFunc(all, func(s entity.Space) bool { return !slices.Contains(names, s.Name) })
	}
	return has(d.In, in) && has(d.Out, out)
}

// placeOps adds the machine or container, or asserts that the machine can host a unit.
func (st *State) placeOps(ctx context.Context, o *ops, born modeldb.Living, p *place, series string,
	constraints constraints.Value) error {
	doc := modeldb.Machine{Living: born, ID: p.machine, Series: series, Jobs: []string{modeldb.JobHostUnits}, Placement: p.at.Directive,
		ForUnits: true}
	if p.at.Container != "" {
		if err := st.containerOps(ctx, o, p.at, &doc, &p.host, &p.machine); err != nil {
			return err
		}
	}
	if p.isNew || p.at.Container != "" {
		st.addMachineOps(o, doc, constraints)
		return nil
	}
	assert := modeltxn.IsAlive
	if p.clean != nil {
		assert = p.clean.asRead(o, constraints, len(p.keeps) > 0)
	}
	assert = slices.Concat(assert, p.keeps, (*modeldb.SeriesUpgrade)(nil).AsRead())
	o.Update(modeldb.MachinesC, p.machine, assert, bson.D{{"$set", bson.D{{"clean", false}}}})
	return nil
}

// A clean is a machine that never had a unit, with what decides whether it suits a unit.
type clean struct {
	doc  modeldb.Machine
	said modeldb.Status
	own  string // its constraints
}

// cleanMachines returns the machines that never had a unit and suit the service, except those taken, containers, which
// were added for a specific placement, and machines in error, which may never start. State does not know whether the
// agent of a started machine is connected.
func (s *Service) cleanMachines(ctx context.Context, want constraints.Value, spaces demand, taken []string) ([]clean, error) {
	machines, err := s.st.machines(ctx, bson.D{{"clean", true}, {"life", entity.Alive}, {"series", s.doc.Series},
		{"jobs", bson.D{{"$ne", modeldb.JobManageModel}}},
		{"container", bson.D{{"$exists", false}}}, {"upgrade", bson.D{{"$exists", false}}}, {"_id", bson.D{{"$nin", notNil(taken)}}}})
	if err != nil {
		return nil, err
	}
	said, own, err := s.st.besideMachines(ctx, machines)
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
		if said[key].Status != entity.StatusError && want.MetBy(m.doc.KnownHardware(), has) && spaces.suits(m.doc, has) {
			all = append(all, clean{m.doc, said[key], own[key]})
		}
	}
	return all, nil
}

// spread returns n of the machines, or all if there are fewer. It takes them in order from the zones in which the fewest
// machines have units of the service, like the provisioner distributes new machines. If zones are unknown, only the
// order matters.
func (s *Service) spread(ctx context.Context, all []clean, n int) ([]clean, error) {
	if n >= len(all) {
		return all, nil
	}
	units, err := s.st.units(ctx, bson.D{{"service", s.doc.Name}})
	if err != nil {
		return nil, err
	}
	var on []string
	for _, u := range units {
		on = append(on, u.doc.Machine)
	}
	hosts, err := s.st.machines(ctx, bson.D{{"_id", bson.D{{"$in", notNil(on)}}}})
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

// zone returns the machine's zone, "" if unknown.
func (c clean) zone() string { return c.doc.KnownHardware().Zone }

// asRead returns what a unit with these constraints, or bound to a space, asserts about the machine's document, and adds the
// other assertions: that the machine still has no unit and has not changed since it was chosen.
func (c clean) asRead(o *ops, demands constraints.Value, bound bool) bson.D {
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

// Spaces returns the spaces that its constraints, and the bindings of the services with units on it, demand of the machine's
// instance. The error is entity.Invalid if the model lacks one of them.
func (m *Machine) Spaces(ctx context.Context) (entity.MachineSpaces, error) {
	text, err := m.st.db.Constraints(ctx, modeldb.MachineKey(m.doc.ID))
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	own, err := constraints.Parse(text)
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	units, err := m.st.units(ctx, bson.D{{"machine", m.doc.ID}})
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	names := mapped(units, func(u *Unit) string { return u.doc.Service })
	services, err := m.st.db.Services(ctx, bson.D{{"_id", bson.D{{"$in", notNil(names)}}}})
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	doc, err := m.st.db.Networks(ctx)
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	want, err := networks.DemandsOf(doc, own, services...)
	if entity.IsNotFound(err) { // to the caller, what is not found would be the machine
		err = entity.WithHint(entity.Errorf(entity.Invalid, "%v", err), "%s", entity.Hint(err))
	}
	return want, err
}

// DistributionGroup returns the other machines with units of the services that have units on the machine or its
// containers, and for a controller's machine those of the other controllers. The provisioner distributes them across the
// cloud's zones.
func (m *Machine) DistributionGroup(ctx context.Context) ([]string, error) {
	containers, err := m.containers(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{m.doc.ID}
	for _, c := range containers {
		own = append(own, c.doc.ID)
	}
	mine, err := m.st.units(ctx, bson.D{{"machine", bson.D{{"$in", own}}}})
	if err != nil {
		return nil, err
	}
	var services []string
	for _, u := range mine {
		services = append(services, u.doc.Service)
	}
	group := []string{}
	all, err := m.st.units(ctx, bson.D{{"service", bson.D{{"$in", notNil(services)}}}, {"machine", bson.D{{"$nin", own}}}})
	for _, u := range all {
		if u.doc.Machine != "" {
			group = append(group, u.doc.Machine)
		}
	}
	if err == nil && m.IsManager() {
		var managers []modeldb.Machine
		err = m.st.db.All(ctx, modeldb.MachinesC, bson.D{{"jobs", modeldb.JobManageModel}, {"_id", bson.D{{"$ne", m.doc.ID}}}}, &managers)
		for _, other := range managers {
			group = append(group, other.ID)
		}
	}
	slices.SortFunc(group, entity.CompareNatural)
	return slices.Compact(group), err
}
