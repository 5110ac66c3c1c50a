package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// relationsAtOnce is up to how many relations a service is destroyed in one
// transaction with them; beyond, they are left to a cleanup.
const relationsAtOnce = 30

// Destroy sets the service Dying, with its relations, or removes it when nothing
// refers to it. A service that is Dying already only takes on the strength, and that
// machines go with its units.
func (s *Service) Destroy(ctx context.Context, how entity.Destruction) error {
	return s.destroy(ctx, s.st.beginWithMachines(how))
}

func (s *Service) destroy(ctx context.Context, d destruction) error {
	return s.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := s.refresh(ctx); isNotFound(err) {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		o := newOps()
		if d.machines && !s.doc.Machines {
			o.expect(serviceKey(s.doc.Name), takesMachines, bson.D{{"$exists", false}})
			o.inc(serviceKey(s.doc.Name), takesMachines, 1)
		}
		if s.doc.Life != entity.Alive {
			o.raiseOps(servicesC, s.doc.Name, serviceKey(s.doc.Name), s.doc.lifeDoc, d, func() {
				o.cascadeOps(cleanupRelations, s.doc.Name, d)
				o.cascadeOps(cleanupUnits, s.doc.Name, d)
			})
			return o.build()
		}
		holders, err := s.st.holders(serviceKey(s.doc.Name))
		if err != nil {
			return nil, err
		}
		gone := map[string]int{}
		many := holders["relations"] > relationsAtOnce
		if !many {
			if holders["relations"], gone["relations"], err = s.destroyRelationsOps(ctx, o, d.alone()); err != nil {
				return nil, err
			}
		}
		left := map[string]int{"units": holders["units"], "relations": holders["relations"] - gone["relations"]}
		step, err := lifecycle.Plan(lifecycle.Service, lifecycle.ToDestroy, lifecycle.User,
			lifecycle.Facts{Life: s.doc.Life, Holders: left})
		if err != nil {
			return nil, err
		}
		o.expectStep(serviceKey(s.doc.Name), step, gone)
		s.dropMinUnitsOps(o)
		if step.Move.To == entity.Gone {
			if err := s.st.removeServiceOps(o, s.doc); err != nil {
				return nil, err
			}
			return o.build()
		}
		o.update(servicesC, s.doc.Name, append(bson.D{s.doc.keeps()}, isAlive...), bson.D{
			{"$set", append(d.turn(entity.Dying), d.raise(s.doc.lifeDoc)...)}, {"$unset", bson.D{{"minunits", 1}}}})
		o.dismantleOps(serviceKey(s.doc.Name), s.doc.lifeDoc, d)
		if many {
			// After the life: a cleaner that comes across it must find that Dying.
			o.cascadeOps(cleanupRelations, s.doc.Name, d)
		} else {
			// One that was added meanwhile would be destroyed by nobody.
			o.expect(serviceKey(s.doc.Name), "relations", holders["relations"])
		}
		if n := gone["relations"]; n > 0 {
			o.inc(serviceKey(s.doc.Name), "relations", -n)
		}
		// The agents of the units do this; the cleanup is for those that are away.
		o.cascadeOps(cleanupUnits, s.doc.Name, d)
		return o.build()
	})
}

// destroyRelationsOps destroys the service's Alive relations without counting
// them down at the service; it returns how many relations the service has and how
// many of them are removed by that.
func (s *Service) destroyRelationsOps(ctx context.Context, o *ops, d destruction) (all, removed int, err error) {
	relations, err := s.st.relationsOf(s.doc.Name)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range relations {
		gone, err := r.destroyOps(ctx, o, s.doc.Name, d)
		if err != nil {
			return 0, 0, err
		}
		if gone {
			removed++
		}
	}
	return len(relations), removed, nil
}

// removeServiceOps takes a service out of state with all that was its own.
func (st *State) removeServiceOps(o *ops, doc serviceDoc) error {
	key := serviceKey(doc.Name)
	o.remove(servicesC, doc.Name, append(unraised(doc.lifeDoc), doc.keeps()))
	o.undismantleOps(key, doc.lifeDoc)
	o.dropCounts(key)
	o.remove(settingsC, key, exists)
	o.remove(constraintsC, key, exists)
	o.remove(statusesC, key, exists)
	if err := st.dropLeadersOps(o, doc.Name); err != nil {
		return err
	}
	return st.dropAnnotationsOps(o, key)
}

// dropServiceRefOps takes away one of the references to a service, "units" or
// "relations". When it was the last to a Dying service, the service goes too;
// whichever it is, the branch that was taken is asserted.
func (st *State) dropServiceRefOps(ctx context.Context, o *ops, name, ref string) error {
	svc, err := st.Service(ctx, name)
	if err != nil {
		return err
	}
	return st.dropRefOps(o, svc, ref)
}

func (st *State) dropRefOps(o *ops, svc *Service, ref string) error {
	name := svc.doc.Name
	key := serviceKey(name)
	if svc.doc.Life == entity.Alive {
		o.assertLife(servicesC, name, entity.Alive)
		o.inc(key, ref, -1)
		return nil
	}
	holders, err := st.holders(key)
	if err != nil {
		return err
	}
	// What this transaction takes away in all; it may come here more than once
	// for one service, when two of its relations end together.
	o.inc(key, ref, -1)
	gone := map[string]int{}
	for _, r := range lifecycle.RefsTo(lifecycle.Service) {
		gone[r.Name] = -o.count(key).inc[r.Name]
		holders[r.Name] -= gone[r.Name]
	}
	step, err := lifecycle.Plan(lifecycle.Service, lifecycle.ToRemove, lifecycle.LastRef,
		lifecycle.Facts{Life: svc.doc.Life, Holders: holders})
	var barred *lifecycle.Barred
	if errors.As(err, &barred) && barred.Ref.Name != "" {
		// Something else still refers to it: whoever drops that comes here again.
		o.expect(key, barred.Ref.Name, bson.D{{"$gt", gone[barred.Ref.Name]}})
		return nil
	}
	if err != nil {
		return err
	}
	o.expectStep(key, step, gone)
	return st.removeServiceOps(o, svc.doc)
}
