package state

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// A place is where a new unit goes: an existing machine, a new one or a new container.
type place struct {
	asked     string // as the user wrote it; "" if the user left it open
	machine   string // its id; "" until it has one
	isNew     bool   // a machine that is added for the unit
	clean     *clean // the machine, if it was chosen because it never had a unit
	placement string // of a new machine, for the cloud
	container string // the type of a new container
	on        string // the machine that the user wants the container on; "" for a new one
	host      string // the container's machine, once it is known
}

// parsePlace reads a placement as users write it.
func parsePlace(text string) (place, error) {
	scope, directive, scoped := strings.Cut(text, ":")
	switch {
	case entity.IsValidMachine(text):
		return place{asked: text, machine: text}, nil
	case text == "new":
		return place{asked: text, isNew: true}, nil
	case entity.IsContainerType(scope) && scoped && !entity.IsValidMachine(directive):
		return place{}, entity.Errorf(entity.Invalid, "invalid value %q for %q scope: expected machine-id", directive, scope)
	case entity.IsContainerType(scope):
		return place{asked: text, container: scope, on: directive}, nil
	case strings.Contains(text, "="):
		return place{asked: text, isNew: true, placement: text}, nil
	}
	return place{}, entity.WithHint(entity.Errorf(entity.Invalid, "invalid --to parameter %q", text),
		"Name a machine (see juju status), a new container, or a placement of the cloud: 3, lxd, lxd:3, zone=eu-1")
}

// checkUnits refuses more placements than there are units, of which some would mean nothing, and storage for
// more than one unit.
func checkUnits(n int, placement, attach []string) error {
	if len(attach) > 0 && n > 1 {
		return entity.Errorf(entity.Invalid, "cannot attach storage to more than one unit")
	}
	if len(placement) <= n {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "more placements than units: %d for %d", len(placement), n),
		"Give each unit at most one placement, or ask for more units: -n %d", len(placement))
}

// places finds a place for each of n units. It uses the ids of the last try's places again.
func (s *Service) places(ctx context.Context, last []place, n int, placement []string,
	constraints constraints.Value) ([]place, error) {
	var all []place
	var taken []string
	for i, text := range placement {
		p, err := parsePlace(text)
		if err == nil {
			err = s.st.checkPlace(ctx, p, s.doc.Name, s.doc.Series)
		}
		if err != nil {
			return nil, err
		}
		if p.container != "" && i < len(last) {
			p.machine, p.host = last[i].machine, last[i].host
		}
		all = append(all, p)
		taken = append(taken, p.machine, p.on)
	}
	if len(all) < n {
		clean, err := s.cleanMachines(ctx, constraints, taken)
		if err != nil {
			return nil, err
		}
		if clean, err = s.spread(clean, n-len(all)); err != nil {
			return nil, err
		}
		for _, c := range clean {
			all = append(all, place{machine: c.doc.ID, clean: &c})
		}
	}
	for len(all) < n {
		all = append(all, place{isNew: true})
	}
	return all, s.st.numberPlaces(ctx, last, all)
}

// numberPlaces gives ids to new machines, first those of the last try.
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

// checkPlacement refuses a placement where a unit of a service can't go.
func (st *State) checkPlacement(ctx context.Context, service, series, text string) error {
	p, err := parsePlace(text)
	if err != nil {
		return err
	}
	return st.checkPlace(ctx, p, service, series)
}

func (st *State) checkPlace(ctx context.Context, p place, service, series string) error {
	if p.isNew || p.container != "" && p.on == "" {
		return nil
	}
	if p.container != "" {
		if err := st.checkHost(ctx, p.on, p.container); err != nil {
			return fmt.Errorf("cannot assign unit of %q to a container: %w", service, err)
		}
		return nil
	}
	fail := func(err error) error {
		return fmt.Errorf("cannot assign unit of %q to machine %s: %w", service, p.machine, err)
	}
	m, err := st.Machine(ctx, p.machine)
	switch {
	case err != nil:
		return fail(err)
	case m.doc.Life != entity.Alive:
		return fail(entity.Errorf(entity.NotAlive, "machine is not alive"))
	case m.doc.Series != series:
		return fail(entity.Errorf(entity.Invalid, "series does not match"))
	case m.IsManager():
		return fail(entity.Errorf(entity.Invalid, "machine %q cannot host units", p.machine))
	}
	return nil
}

// placeOps adds the machine or container, or asserts that the machine can take a unit.
func (st *State) placeOps(ctx context.Context, o *ops, born modeldb.Living, p *place, series string,
	constraints constraints.Value) error {
	doc := modeldb.Machine{Living: born, ID: p.machine, Series: series, Jobs: []string{modeldb.JobHostUnits}, Placement: p.placement,
		ForUnits: true}
	if p.container != "" {
		what := AddMachineParams{Container: p.container, Host: p.on}
		if err := st.containerOps(ctx, o, what, &doc, &p.host, &p.machine); err != nil {
			return err
		}
	}
	if p.isNew || p.container != "" {
		st.addMachineOps(o, doc, constraints)
		return nil
	}
	assert := modeltxn.IsAlive
	if p.clean != nil {
		assert = p.clean.asRead(o, constraints)
	}
	o.Update(modeldb.MachinesC, p.machine, assert, bson.D{{"$set", bson.D{{"clean", false}}}})
	return nil
}
