package state

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/internal/placement"
	"juju/state/internal/storage"
	"juju/state/mongo"
)

// AddUnits adds n units to the service and returns their names. The first ones are placed as specified, the others on
// machines that never had a unit and suit them, or on new ones. A single unit gets the storage instances in attach, and new
// ones only for what else it needs. If AddUnits fails, it returns the names of the units that it has added.
func (s *Service) AddUnits(ctx context.Context, n int, to []entity.Placement, attach ...string) ([]string, error) {
	if n < 1 {
		return nil, entity.Errorf(entity.Invalid, "--num-units must be a positive integer")
	}
	if err := checkUnits(n, to, attach); err != nil {
		return nil, err
	}
	var names []string
	for len(names) < n {
		added, err := s.addUnits(ctx, n-len(names), to[min(len(to), len(names)):], attach)
		names = append(names, added...)
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

// addUnits adds as many of n units as fit in one transaction, and returns their names.
func (s *Service) addUnits(ctx context.Context, n int, to []entity.Placement, attach []string) ([]string, error) {
	b := unitBatch{service: s, born: s.st.born(), attach: attach}
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		return b.addOps(ctx, o, n, to)
	})
	if err != nil {
		return nil, err
	}
	return b.names, nil
}

// A unitBatch is the new units of a service that one transaction adds. It keeps the allocated numbers across attempts.
type unitBatch struct {
	service *Service
	born    modeldb.Living
	names   []string

	first, numbers int // the units' numbers
	places         []placement.Place
	attach         []string // storage of a single unit
	storage        storage.Numbers
}

// addOps adds as many of n units as fit in a transaction to the service, which the caller has just read.
func (b *unitBatch) addOps(ctx context.Context, o *ops, n int, to []entity.Placement) error {
	s := b.service
	if s.doc.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "cannot add unit to service %q: service is not alive", s.doc.Name)
	}
	if s.doc.Subordinate {
		return entity.WithHint(entity.Errorf(entity.Invalid, "cannot add unit to service %q: service is a subordinate",
			s.doc.Name),
			"It has a unit beside each unit of the services that it is related to.")
	}
	model, err := s.st.db.AliveModel(ctx)
	if err != nil {
		return err
	}
	text, err := s.st.db.Constraints(ctx, modeldb.ServiceKey(s.doc.Name))
	if err != nil {
		return err
	}
	own, err := constraints.Parse(text)
	if err != nil {
		return err
	}
	// The machines are chosen, or described, by the service's series, bindings and constraints.
	o.Assert(modeldb.ServicesC, s.doc.Name, append(slices.Clone(modeltxn.IsAlive), bson.DocElem{Name: "series", Value: s.doc.Series}, s.doc.KeepsBindings()))
	o.Assert(modeldb.ConstraintsC, modeldb.ServiceKey(s.doc.Name), bson.D{{"value", text}})
	var meta *charm.Meta
	if len(s.doc.Stores) > 0 || len(b.attach) > 0 {
		if meta, err = storage.StoresOf(ctx, s.st.db, o.Ops, s.doc.Name); err != nil {
			return err
		}
	}
	return b.newOps(ctx, o, n, to, model, own, meta)
}

// newOps adds as many of n units as fit in a transaction to a service, which the same transaction may add. own are the
// service's constraints, and meta is its charm's, if the units get storage.
func (b *unitBatch) newOps(ctx context.Context, o *ops, n int, to []entity.Placement,
	model modeldb.Model, own constraints.Value,
	meta *charm.Meta) error {
	s := b.service
	constraints, err := mergeConstraints(model, own)
	if err != nil {
		return err
	}
	n, instances := b.fits(n, to, constraints)
	to = to[:min(len(to), n)]
	want, doc, err := networks.Demand(ctx, s.st.db, o.Ops, constraints, s.doc)
	if err != nil {
		return err
	}
	place := placement.Units{DB: s.st.db, Service: s.doc, Constraints: constraints, Demand: placement.Demand{MachineSpaces: want, Networks: doc}}
	if b.places, err = place.Places(ctx, b.places, n, to); err != nil {
		return err
	}
	if b.numbers < n {
		if b.first, err = s.st.db.Next(ctx, modeldb.UnitSequence(s.doc.Name), n); err != nil {
			return err
		}
		b.numbers = n
	}
	if err := b.storage.Reserve(ctx, s.st.db, instances); err != nil {
		return err
	}
	o.assertModelAs(model)
	grant := storage.Grant{DB: s.st.db, Used: o.pools, Numbers: &b.storage, Born: b.born, Model: model, Meta: meta}
	b.names = b.names[:0]
	for i := range n {
		if err := b.places[i].AddTo(ctx, o.Ops, place, b.born); err != nil {
			return fmt.Errorf("cannot add unit to service %q: %w", s.doc.Name, err)
		}
		doc := modeldb.Unit{Living: b.born, Name: s.doc.Name + "/" + strconv.Itoa(b.first+i), Service: s.doc.Name,
			Series: s.doc.Series, Machine: b.places[i].Machine()}
		s.st.addUnitOps(o, doc, constraints)
		grant.Unit, grant.Machine = doc, doc.Machine
		if err := grant.New(ctx, o.Ops, s.doc.Stores, b.attach); err != nil {
			return fmt.Errorf("cannot add unit to service %q: %w", s.doc.Name, err)
		}
		b.names = append(b.names, doc.Name)
	}
	return nil
}

// checkUnits rejects more placements than units, and storage to attach to more than one unit.
func checkUnits(n int, to []entity.Placement, attach []string) error {
	if len(attach) > 0 && n > 1 {
		return entity.Errorf(entity.Invalid, "cannot attach storage to more than one unit")
	}
	if len(to) <= n {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "more placements than units: %d for %d", len(to), n),
		"Give each unit at most one placement, or ask for more units: -n %d", len(to))
}

// How many bytes of documents a unit has at most when it is new, with its machine but without their constraints and
// placement; and a storage instance with its attachment.
const (
	unitBytes    = 1000
	storageBytes = 1000
)

// fits returns how many of n units fit in a transaction, at least one, and how many storage instances they get, unless a
// single one gets instances that are there.
func (b *unitBatch) fits(n int, to []entity.Placement, constraints constraints.Value) (units, instances int) {
	each := 0
	for _, c := range b.service.doc.Stores {
		each += int(c.Count)
	}
	bytes, text := 0, len(constraints.String())
	for units < n && bytes < mongo.MaxBatch {
		bytes += unitBytes + 2*text + each*storageBytes
		if units < len(to) {
			bytes += len(to[units].Directive)
		}
		units++
	}
	if len(b.attach) > 0 {
		return units, 0
	}
	return units, units * each
}

// notNil returns an empty list for nil, because the store distinguishes them.
func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
