package state

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
)

// A destruction cascades to sources, in idempotent steps.

// destroySources destroys what refers to a Dying entity, as far as the tables have this actor do it: the Alive sources
// and, if the destruction is stronger than plain, also the Dying ones. A source that can't be destroyed does not block
// the others.
//
// still, unless nil, is called after the sources have been read; if it returns false, they belong to a new entity with
// the same name.
func (st *State) destroySources(ctx context.Context, e living, by lifecycle.Actor, d destruction,
	still func() (bool, error)) error {
	var all []living
	for _, ref := range lifecycle.Reached(e.kind(), d.strength, by) {
		sources, err := st.sources(ctx, ref, e.name())
		if err != nil {
			return err
		}
		all = append(all, sources...)
	}
	if err := e.refresh(ctx); entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if e.life().Life == entity.Alive {
		return nil
	}
	if still != nil {
		if is, err := still(); err != nil || !is {
			return err
		}
	}
	slices.Reverse(all) // containers before their hosts
	// Subordinates before their principals: otherwise they see that they are orphans, and destroy themselves without force.
	slices.SortStableFunc(all, func(a, b living) int { return cmp.Compare(turnOf(a), turnOf(b)) })
	return forEach(ctx, all, func(s living) error {
		if d.strength == entity.Plain && s.life().Life != entity.Alive {
			return nil
		}
		err := st.move(ctx, s, lifecycle.ToDestroy, by, d)
		if err == nil && e.kind() == lifecycle.Model {
			// Units before machines: a machine without an instance is removed at once if nothing is on it.
			err = st.destroySources(ctx, s, by, d, nil)
		}
		return err
	})
}

// turnOf returns when a source is destroyed: those with lower numbers are first.
func turnOf(e living) int {
	if s, ok := e.(*Service); ok && s.doc.Subordinate {
		return 0
	}
	return 1
}

// forEach calls f for each element, even after an error, and returns the first error. It stops only when ctx ends.
func forEach[T any](ctx context.Context, all []T, f func(T) error) (first error) {
	for _, one := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(one); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// cleanupDestroy destroys what refers to a Dying entity. It is not done while a source can't be destroyed, such as a
// model's machines while units are on them.
func (st *State) cleanupDestroy(ctx context.Context, c modeldb.Cleanup, d destruction) (done bool, err error) {
	e, err := st.findKey(ctx, c.Arg)
	if entity.IsNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	// The cleanup is removed with its entity.
	err = st.destroySources(ctx, e, lifecycle.Cleaner, d, func() (bool, error) {
		n, err := st.db.Count(ctx, modeldb.CleanupsC, bson.D{{"_id", c.ID}})
		return n > 0, err
	})
	if errors.Is(err, entity.InUse) {
		return false, nil
	}
	return err == nil, err
}

// forgetOrphans removes the cleanups left by earlier container relations between a new relation's services: their
// subordinates are now in the new relation, and are destroyed with their principals.
func (st *State) forgetOrphans(ctx context.Context, o *ops, doc modeldb.Relation) error {
	others, err := st.containerRelations(ctx, doc.Endpoints[0].Service, doc.Endpoints[1].Service)
	if err != nil {
		return err
	}
	for _, r := range others {
		o.AssertLife(modeldb.RelationsC, r.doc.Key, entity.Alive) // otherwise it may have left orphans since
	}
	var cleanups []modeldb.Cleanup
	if err := st.db.All(ctx, modeldb.CleanupsC, bson.D{{"kind", modeldb.CleanupOrphans}}, &cleanups); err != nil {
		return err
	}
	for _, c := range cleanups {
		if sameServices(c.Arg, doc.Key) {
			o.Remove(modeldb.CleanupsC, c.ID, nil)
		}
	}
	return nil
}

// cleanupOrphans destroys the subordinates that a removed container relation left without a relation to their
// principals, unless a new relation has removed the cleanup.
func (st *State) cleanupOrphans(ctx context.Context, c modeldb.Cleanup, d destruction) error {
	still := func(o *ops) (bool, error) {
		n, err := st.db.Count(ctx, modeldb.CleanupsC, bson.D{{"_id", c.ID}})
		o.Assert(modeldb.CleanupsC, c.ID, modeltxn.Exists)
		return n > 0, err
	}
	names := endpointServices(c.Arg)
	for _, service := range names {
		svc, err := st.Service(ctx, service)
		if entity.IsNotFound(err) || err == nil && !svc.doc.Subordinate {
			continue
		} else if err != nil {
			return err
		}
		for _, other := range names {
			if other == service {
				continue
			}
			query := bson.D{{"service", service}}
			if d.strength == entity.Plain {
				query = append(query, modeltxn.IsAlive...)
			}
			units, err := st.units(ctx, query)
			if err != nil {
				return err
			}
			if alive, err := st.hasContainerRelation(ctx, service, other); err != nil {
				return err
			} else if alive {
				continue
			}
			orphans := slices.DeleteFunc(units, func(u *Unit) bool { return entity.UnitService(u.doc.Principal) != other })
			if err := forEach(ctx, orphans, func(u *Unit) error {
				return st.move(ctx, u, lifecycle.ToDestroy, lifecycle.Cleaner, d, still, func(o *ops) (bool, error) {
					return u.isOrphan(ctx, o)
				})
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
