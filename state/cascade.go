package state

import (
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// What follows is how a destruction reaches downward, in steps that can be
// repeated. Each reads those it destroys before it looks at what their
// destruction rests on: so they can't be those of another thing that took the
// name of the one that was destroyed.

// goes is which of those that refer to a thing a destruction is for: the Alive
// ones, and with more strength those that are Dying already.
func (d destruction) goes(query bson.D) bson.D {
	if d.strength == entity.Plain {
		query = append(query, bson.DocElem{Name: "life", Value: entity.Alive})
	}
	return query
}

// destroyUnits destroys units, each in a transaction; one that can't be does not
// hold up the others.
func (st *State) destroyUnits(ctx context.Context, units []*Unit, d destruction) error {
	return forEach(ctx, units, func(u *Unit) error { return u.move(ctx, lifecycle.ToDestroy, lifecycle.Cleaner, d) })
}

// forEach calls f with each, also when it fails with some, and returns the first
// error.
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

// isGoing reports whether the service is there and on its way out. If it is Alive,
// it is another of the same name.
func (st *State) isGoing(ctx context.Context, service string) (bool, error) {
	return st.isGoingBy(ctx, service, destruction{})
}

// isGoingBy is isGoing of the very service that a destruction is of. One that is
// Dying less strongly, or has more time left, was never told of it: that one has
// gone, and this has taken its name.
func (st *State) isGoingBy(ctx context.Context, service string, d destruction) (bool, error) {
	svc, err := st.Service(ctx, service)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil && svc.doc.Life != entity.Alive && d.raise(svc.doc.lifeDoc) == nil, err
}

// cleanupUnits destroys the units of a Dying service.
func (st *State) cleanupUnits(ctx context.Context, service string, d destruction) error {
	units, err := st.units(d.goes(bson.D{{"service", service}}))
	if err != nil {
		return err
	}
	if going, err := st.isGoingBy(ctx, service, d); err != nil || !going {
		return err
	}
	return st.destroyUnits(ctx, units, d)
}

// cleanupRelations destroys the relations of a Dying service.
func (st *State) cleanupRelations(ctx context.Context, service string, d destruction) error {
	relations, err := st.relationsOf(service)
	if err != nil {
		return err
	}
	if going, err := st.isGoingBy(ctx, service, d); err != nil || !going {
		return err
	}
	return forEach(ctx, relations, func(r *Relation) error { return r.destroy(ctx, d) })
}

// cleanupSubordinates destroys the subordinates of a Dying principal, whose name
// no other ever has.
func (st *State) cleanupSubordinates(ctx context.Context, principal string, d destruction) error {
	u, err := st.Unit(ctx, principal)
	if isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return u.destroySubordinates(ctx, lifecycle.Cleaner, d)
}

// cleanupGuests destroys what is on a machine as strongly as the machine.
func (st *State) cleanupGuests(ctx context.Context, machine string, d destruction) error {
	m, err := st.Machine(ctx, machine)
	if isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	units, err := st.units(bson.D{{"machine", machine}})
	if err != nil {
		return err
	}
	containers, err := m.containers()
	if err != nil {
		return err
	}
	return errors.Join(st.destroyUnits(ctx, units, d), forEach(ctx, containers, func(c *Machine) error {
		return c.move(ctx, lifecycle.ToDestroy, byCleaner, d)
	}))
}

// cleanupEmptied destroys a machine that units have left which take it along, unless
// something else is on it, or a user has added it.
func (st *State) cleanupEmptied(ctx context.Context, machine string, d destruction) error {
	m, err := st.Machine(ctx, machine)
	if isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return m.move(ctx, lifecycle.ToDestroy, byCleaner, d, m.isEmptied)
}

// forgetOrphans has a new relation of container scope end what earlier ones between
// its services have left to do: who is beside a principal now counts as its own, and
// goes with it, as strongly as it does.
func (st *State) forgetOrphans(o *ops, doc relationDoc) error {
	others, err := st.containerRelations(doc.Endpoints[0].Service, doc.Endpoints[1].Service)
	if err != nil {
		return err
	}
	for _, r := range others {
		o.assertLife(relationsC, r.doc.Key, entity.Alive) // or it has left orphans meanwhile
	}
	var owed []cleanupDoc
	if err := st.db.All(cleanupsC, bson.D{{"kind", cleanupOrphans}}, &owed); err != nil {
		return err
	}
	for _, c := range owed {
		if sameServices(c.Arg, doc.Key) {
			o.remove(cleanupsC, c.ID, nil)
		}
	}
	return nil
}

// cleanupOrphans destroys the subordinates that a relation of container scope has
// left without another to their principals, unless one comes that has it forgotten.
func (st *State) cleanupOrphans(ctx context.Context, owed cleanupDoc, d destruction) error {
	still := func(o *ops) (bool, error) {
		n, err := st.db.Count(cleanupsC, bson.D{{"_id", owed.ID}})
		o.assert(cleanupsC, owed.ID, exists)
		return n > 0, err
	}
	names := endpointServices(owed.Arg)
	for _, service := range names {
		svc, err := st.Service(ctx, service)
		if isNotFound(err) || err == nil && !svc.doc.Subordinate {
			continue
		} else if err != nil {
			return err
		}
		for _, other := range names {
			if other == service {
				continue
			}
			units, err := st.units(d.goes(bson.D{{"service", service}}))
			if err != nil {
				return err
			}
			if alive, err := st.hasContainerRelation(service, other); err != nil {
				return err
			} else if alive {
				continue
			}
			orphans := slices.DeleteFunc(units, func(u *Unit) bool { return entity.UnitService(u.doc.Principal) != other })
			if err := forEach(ctx, orphans, func(u *Unit) error {
				return u.move(ctx, lifecycle.ToDestroy, lifecycle.Cleaner, d, still, u.isOrphan)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
