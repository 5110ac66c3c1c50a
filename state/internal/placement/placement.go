package placement

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// A Place is where a new unit is placed: an existing machine, a new machine or a new container.
type Place struct {
	at    entity.Placement // the user's
	ids   IDs
	isNew bool   // a machine that is added for the unit
	clean *clean // the machine, if it was chosen because it never had a unit
	keeps bson.D // asserts the addresses by which an existing machine meets the service's demands for spaces
}

// Machine returns the id of the machine.
func (p Place) Machine() string { return p.ids.Machine }

// Units are new units of a service.
type Units struct {
	DB          *modeltxn.DB
	Service     modeldb.Service
	Constraints constraints.Value // merged with the model's
	Demand      Demand
}

// Places finds a place for each of n units, the first ones as users specified, on machines that meet the demand for spaces. It
// reuses the ids of the last attempt's places.
func (u Units) Places(ctx context.Context, last []Place, n int, placement []entity.Placement) ([]Place, error) {
	all := make([]Place, n)
	var open []*Place   // which the user leaves to the model
	taken := []string{} // nil would match nothing
	for i := range all {
		p := &all[i]
		if i < len(placement) {
			p.at = placement[i]
		}
		if p.at == (entity.Placement{}) {
			open = append(open, p)
			continue
		}
		err := Check(ctx, u.DB, p.at, u.Service.Name, u.Service.Series)
		switch {
		case p.at.Container != "":
			if i < len(last) {
				p.ids = last[i].ids
			}
		case p.at.Machine == "":
			p.isNew = true
		case err == nil:
			p.ids.Machine = p.at.Machine
			p.keeps, err = u.demands(ctx, p.at.Machine)
		}
		if err != nil {
			return nil, err
		}
		taken = append(taken, p.ids.Machine, p.at.Machine)
	}
	if len(open) > 0 {
		clean, err := u.clean(ctx, taken)
		if err != nil {
			return nil, err
		}
		if clean, err = u.spread(ctx, clean, len(open)); err != nil {
			return nil, err
		}
		for i, c := range clean {
			*open[i] = Place{ids: IDs{Machine: c.doc.ID}, clean: &c, keeps: u.Demand.keeps(c.doc)}
		}
		for _, p := range open[len(clean):] {
			p.isNew = true
		}
	}
	return all, number(ctx, u.DB, last, all)
}

// number assigns ids to new machines, reusing those of the last attempt.
func number(ctx context.Context, db *modeltxn.DB, last, all []Place) error {
	var ids []string
	for _, p := range last {
		if p.isNew {
			ids = append(ids, p.ids.Machine)
		}
	}
	missing := -len(ids)
	for _, p := range all {
		if p.isNew {
			missing++
		}
	}
	if missing > 0 {
		first, err := db.Next(ctx, modeldb.MachineSequence, missing)
		if err != nil {
			return err
		}
		for i := range missing {
			ids = append(ids, strconv.Itoa(first+i))
		}
	}
	for i := range all {
		if all[i].isNew {
			all[i].ids.Machine, ids = ids[0], ids[1:]
		}
	}
	return nil
}

// Check rejects a placement that is invalid for a unit of a service.
func Check(ctx context.Context, db *modeltxn.DB, at entity.Placement, service, series string) error {
	switch {
	case at.Manual != "":
		return entity.WithHint(entity.Errorf(entity.Invalid,
			"cannot assign unit of %q to %s: it is not a machine of the model", service, at),
			"Add the host, then specify its machine: juju add-machine %s", at)
	case at.Machine == "":
		return nil
	case at.Container != "":
		if err := checkHost(ctx, db, at.Machine, at.Container); err != nil {
			return fmt.Errorf("cannot assign unit of %q to a container: %w", service, err)
		}
		return nil
	}
	fail := func(err error) error {
		return fmt.Errorf("cannot assign unit of %q to machine %s: %w", service, at.Machine, err)
	}
	m, err := db.Machine(ctx, at.Machine)
	switch {
	case err != nil:
		return fail(err)
	case m.Life != entity.Alive:
		return fail(entity.Errorf(entity.NotAlive, "machine is not alive"))
	case m.Series != series:
		return fail(entity.Errorf(entity.Invalid, "series does not match"))
	case m.IsManager():
		return fail(entity.Errorf(entity.Invalid, "machine %q cannot host units", at.Machine))
	case m.Upgrade != nil:
		return fail(isLocked(m))
	}
	return nil
}

// isLocked is the error for what would be placed on the machine while its operating system is upgraded.
func isLocked(m modeldb.Machine) error {
	return entity.WithHint(entity.Errorf(entity.Invalid, "the operating system of machine %s is being upgraded", m.ID),
		"Complete the upgrade first: juju upgrade-machine %s complete", m.ID)
}

// AddTo adds the machine or container, or asserts that the machine can host a unit.
func (p *Place) AddTo(ctx context.Context, o *modeltxn.Ops, u Units, born modeldb.Living) error {
	doc := modeldb.Machine{Living: born, ID: p.ids.Machine, Series: u.Service.Series, Jobs: []string{modeldb.JobHostUnits}, Placement: p.at.Directive,
		ForUnits: true}
	if p.at.Container != "" {
		if err := Container(ctx, u.DB, o, p.at, &doc, &p.ids); err != nil {
			return err
		}
	}
	if p.isNew || p.at.Container != "" {
		AddMachine(o, doc, u.Constraints)
		return nil
	}
	assert := modeltxn.IsAlive
	if p.clean != nil {
		assert = p.clean.asRead(o, u.Constraints, len(p.keeps) > 0)
	}
	assert = slices.Concat(assert, p.keeps, (*modeldb.SeriesUpgrade)(nil).AsRead())
	o.Update(modeldb.MachinesC, p.ids.Machine, assert, bson.D{{"$set", bson.D{{"clean", false}}}})
	return nil
}
