package state

import (
	"context"
	"fmt"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// unitsAtOnce is how many units one transaction adds at most.
const unitsAtOnce = 20

func unitSequence(service string) string { return "service-" + service }

// AddUnits adds n units to the service and returns their names. It assigns the first ones
// to the machines named in placement, and the others to machines that never had a unit,
// or to new ones. A single unit gets the storage instances in attach, and new ones only for
// what else it needs. If it fails, it returns the names of the units that it has added.
func (s *Service) AddUnits(ctx context.Context, n int, placement []string, attach ...string) ([]string, error) {
	if n < 1 {
		return nil, entity.Errorf(entity.Invalid, "--num-units must be a positive integer")
	}
	if len(attach) > 0 && n != 1 {
		return nil, entity.Errorf(entity.Invalid, "cannot attach storage to more than one unit")
	}
	var names []string
	for n > 0 {
		batch := min(n, unitsAtOnce)
		here := placement[:min(len(placement), batch)]
		added, err := s.addUnits(ctx, batch, here, attach)
		names = append(names, added...)
		if err != nil {
			return names, err
		}
		n -= batch
		placement = placement[len(here):]
	}
	return names, nil
}

// A place is where a new unit goes: an existing machine or a new one.
type place struct {
	machine string
	isNew   bool
	isClean bool // chosen because it never had a unit
}

func (s *Service) addUnits(ctx context.Context, n int, placement, attach []string) ([]string, error) {
	b := unitBatch{service: s, born: s.st.born(), attach: attach}
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if err := b.addOps(ctx, o, n, placement); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.names, nil
}

// A unitBatch is the new units of a service that one transaction adds. It keeps the
// numbers that it has taken when the transaction is tried again.
type unitBatch struct {
	service *Service
	born    lifeDoc
	names   []string

	first, numbers int // the units' numbers
	places         []place
	attach         []string // storage of a single unit
	storage        storageNumbers
}

// addOps adds n units to the service, which the caller has just read.
func (b *unitBatch) addOps(ctx context.Context, o *ops, n int, placement []string) error {
	s := b.service
	if s.doc.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "cannot add unit to service %q: service is not alive", s.doc.Name)
	}
	if s.doc.Subordinate {
		return entity.WithHint(entity.Errorf(entity.Invalid, "cannot add unit to service %q: service is a subordinate",
			s.doc.Name),
			"It has a unit beside each unit of the services that it is related to.")
	}
	model, err := s.st.aliveModel()
	if err != nil {
		return err
	}
	own, err := s.st.constraints(serviceKey(s.doc.Name))
	if err != nil {
		return err
	}
	constraints, err := model.mergeConstraints(own)
	if err != nil {
		return err
	}
	if b.places, err = s.places(ctx, b.places, n, placement, constraints); err != nil {
		return err
	}
	if b.numbers < n {
		if b.first, err = s.st.db.Next(ctx, unitSequence(s.doc.Name), n); err != nil {
			return err
		}
		b.numbers = n
	}
	o.assertModelAs(model)
	o.assertLife(servicesC, s.doc.Name, entity.Alive)
	o.Assert(constraintsC, serviceKey(s.doc.Name), bson.D{{"value", own}})
	grant := storageGrant{st: s.st, numbers: &b.storage, born: b.born, model: model}
	if b.storage.used = 0; len(s.doc.Stores) > 0 || len(b.attach) > 0 {
		ch, err := s.st.charmOf(ctx, o, s.doc.Name)
		if err != nil {
			return err
		}
		grant.meta = ch.Meta
	}
	b.names = b.names[:0]
	for i := range n {
		doc := unitDoc{lifeDoc: b.born, Name: s.doc.Name + "/" + strconv.Itoa(b.first+i), Service: s.doc.Name,
			Series: s.doc.Series, Machine: b.places[i].machine}
		s.st.placeOps(o, b.born, b.places[i], s.doc.Series, constraints)
		s.st.addUnitOps(o, doc, constraints)
		grant.unit, grant.machine = doc, doc.Machine
		if err := grant.grantOps(ctx, o, s, b.attach); err != nil {
			return fmt.Errorf("cannot add unit to service %q: %w", s.doc.Name, err)
		}
		b.names = append(b.names, doc.Name)
	}
	return nil
}

// places finds a machine for each of n units. It uses the new machines of the last try
// again.
func (s *Service) places(ctx context.Context, last []place, n int, placement []string,
	constraints string) ([]place, error) {
	var all []place
	for _, id := range placement {
		if err := s.st.checkPlacement(ctx, s.doc.Name, s.doc.Series, id); err != nil {
			return nil, err
		}
		all = append(all, place{machine: id})
	}
	if len(all) < n {
		clean, err := s.cleanMachines(ctx, constraints, placement)
		if err != nil {
			return nil, err
		}
		for _, id := range clean[:min(len(clean), n-len(all))] {
			all = append(all, place{machine: id, isClean: true})
		}
	}
	var spare []string
	for _, p := range last {
		if p.isNew {
			spare = append(spare, p.machine)
		}
	}
	if more := n - len(all) - len(spare); more > 0 {
		first, err := s.st.db.Next(ctx, machineSequence, more)
		if err != nil {
			return nil, err
		}
		for i := range more {
			spare = append(spare, strconv.Itoa(first+i))
		}
	}
	for _, id := range spare[:n-len(all)] {
		all = append(all, place{machine: id, isNew: true})
	}
	return all, nil
}

// checkPlacement refuses a machine that can't take a unit of a service.
func (st *State) checkPlacement(ctx context.Context, service, series, id string) error {
	fail := func(err error) error {
		return fmt.Errorf("cannot assign unit of %q to machine %s: %w", service, id, err)
	}
	if !entity.IsValidMachine(id) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "invalid --to parameter %q", id),
			"It is the number of a machine: see juju status")
	}
	m, err := st.Machine(ctx, id)
	switch {
	case err != nil:
		return fail(err)
	case m.doc.Life != entity.Alive:
		return fail(entity.Errorf(entity.NotAlive, "machine is not alive"))
	case m.doc.Series != series:
		return fail(entity.Errorf(entity.Invalid, "series does not match"))
	case m.IsManager():
		return fail(entity.Errorf(entity.Invalid, "machine %q cannot host units", id))
	}
	return nil
}

// cleanMachines returns the machines that never had a unit and suit the service. A
// container does not count: it was added for what is to be placed in it.
func (s *Service) cleanMachines(ctx context.Context, constraints string, taken []string) ([]string, error) {
	var docs []machineDoc
	query := bson.D{{"clean", true}, {"life", entity.Alive}, {"series", s.doc.Series},
		{"jobs", bson.D{{"$ne", JobManageModel}}},
		{"container", bson.D{{"$exists", false}}}, {"_id", bson.D{{"$nin", notNil(taken)}}}}
	if err := s.st.db.All(machinesC, query, &docs); err != nil {
		return nil, err
	}
	entity.SortBy(docs, func(d machineDoc) string { return d.ID })
	var ids []string
	for _, doc := range docs {
		have, err := s.st.constraints(machineKey(doc.ID))
		if err != nil {
			return nil, err
		}
		// All that is known of an unprovisioned machine is its constraints.
		if constraints == "" || constraints == have {
			ids = append(ids, doc.ID)
		}
	}
	return ids, nil
}

// notNil returns an empty list for nil, because the store distinguishes them.
func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// placeOps adds the machine, or asserts that it can take a unit.
func (st *State) placeOps(o *ops, born lifeDoc, p place, series, constraints string) {
	if p.isNew {
		st.addMachineOps(o, machineDoc{lifeDoc: born, ID: p.machine, Series: series, Jobs: []string{JobHostUnits},
			ForUnits: true}, constraints)
		return
	}
	assert := isAlive
	if p.isClean {
		assert = bson.D{{"life", entity.Alive}, {"clean", true}} // otherwise another unit has been placed on it
	}
	o.Update(machinesC, p.machine, assert, bson.D{{"$set", bson.D{{"clean", false}}}})
}
