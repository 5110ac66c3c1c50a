package state

import (
	"context"
	"errors"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A minUnitsDoc is there while a service keeps a number of units, which its own
// document says. It changes with every destruction of a unit that was Alive, so
// that whoever watches it looks whether there are enough.
type minUnitsDoc struct {
	Service string `bson:"_id"`
	// Token tells this document from one that was there before.
	Token   string `bson:"token"`
	Changes int64  `bson:"changes"`
}

// keeps is an assert that a service keeps as many units as it was seen to.
func (d serviceDoc) keeps() bson.DocElem {
	if d.MinUnits == 0 {
		return bson.DocElem{Name: "minunits", Value: bson.D{{"$exists", false}}}
	}
	return bson.DocElem{Name: "minunits", Value: d.MinUnits}
}

// MinUnits returns how many Alive units the service keeps; 0 is as many as there are.
func (s *Service) MinUnits() int { return s.doc.MinUnits }

// SetMinUnits has the service keep at least n Alive units: as many are added as
// there are too few, now and whenever one is destroyed. With 0 it keeps none.
func (s *Service) SetMinUnits(ctx context.Context, n int) error {
	token := newID()
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		switch {
		case n < 0:
			return entity.Errorf(entity.Invalid, "cannot set a negative minimum number of units")
		case s.doc.Subordinate:
			return entity.WithHint(entity.Errorf(entity.Invalid, "service is a subordinate"),
				"It has a unit beside each unit of the services that it is related to.")
		case s.doc.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "service is not alive")
		case s.doc.MinUnits == n:
			return mongo.ErrNothing
		}
		name, assert := s.doc.Name, append(bson.D{s.doc.keeps()}, isAlive...)
		switch {
		case n == 0:
			o.update(servicesC, name, assert, bson.D{{"$unset", bson.D{{"minunits", 1}}}})
			o.remove(minUnitsC, name, exists)
		case s.doc.MinUnits == 0:
			o.update(servicesC, name, assert, bson.D{{"$set", bson.D{{"minunits", n}}}})
			o.insert(minUnitsC, name, minUnitsDoc{Service: name, Token: token})
		default:
			o.update(servicesC, name, assert, bson.D{{"$set", bson.D{{"minunits", n}}}})
			o.wakeMinUnits(name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set minimum units for service %q: %w", s.doc.Name, err)
	}
	return nil
}

func (o *ops) wakeMinUnits(service string) {
	o.update(minUnitsC, service, exists, bson.D{{"$inc", bson.D{{"changes", 1}}}})
}

// lessUnitsOps is part of what takes an Alive unit from its service. One that
// keeps a number of units is looked at again by that; of one that does not it
// asserts so, or a number that is set meanwhile would count the unit.
func (st *State) lessUnitsOps(ctx context.Context, o *ops, service string) error {
	svc, err := st.Service(ctx, service)
	if err != nil {
		return err
	}
	switch {
	case svc.doc.Life != entity.Alive: // it keeps none, and will not any more
	case svc.doc.MinUnits > 0:
		o.wakeMinUnits(service)
	default:
		o.assert(servicesC, service, bson.D{svc.doc.keeps()})
	}
	return nil
}

// MinUnits keeps the units of services that are to have a minimum of them.
type MinUnits struct{ st *State }

// MinUnits returns what keeps minimum numbers of units.
func (st *State) MinUnits() MinUnits { return MinUnits{st} }

// WatchMinUnits names services that may have fewer units than they keep.
func (m MinUnits) WatchMinUnits(ctx context.Context) (<-chan []string, error) {
	type value struct {
		token   string
		changes int64
	}
	return watcher.Strings(ctx, m.st.hub, watcher.Listing[value]{
		Topics: []watcher.Topic{watcher.Collection(minUnitsC)},
		List: func(services []string) (map[string]value, error) {
			var query bson.D
			if services != nil {
				query = bson.D{{"_id", bson.D{{"$in", services}}}}
			}
			var docs []minUnitsDoc
			if err := m.st.db.All(minUnitsC, query, &docs); err != nil {
				return nil, err
			}
			all := map[string]value{}
			for _, d := range docs {
				all[d.Service] = value{d.Token, d.Changes}
			}
			return all, nil
		},
	})
}

// EnsureMinUnits adds units to a service that has fewer Alive ones than it keeps;
// nothing when it has enough, keeps none, or is going away with its model or
// alone. Whoever does it at the same time adds none too many.
func (m MinUnits) EnsureMinUnits(ctx context.Context, service string) error {
	for {
		full, err := m.st.ensureSome(ctx, service)
		if err != nil {
			return err
		}
		if full {
			return nil
		}
	}
}

// ensureSome adds as many as one transaction takes, and reports whether that is all.
func (st *State) ensureSome(ctx context.Context, service string) (full bool, err error) {
	s, err := st.Service(ctx, service)
	if isNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	b := unitBatch{service: s, born: st.born()}
	err = st.change(ctx, func(o *ops) error {
		full = true
		if err := s.refresh(ctx); isNotFound(err) || err == nil && (s.doc.MinUnits == 0 || s.doc.Life != entity.Alive) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		// First the counts, which change with every unit that comes or goes, then
		// the units: if the counts are the same still, so are the units, but for those
		// that are Alive no more, and each of those asks for itself.
		var counts struct {
			Revno int64 `bson:"txn-revno"`
		}
		key := serviceKey(service)
		if err := st.db.Get(countsC, key, &counts, "counts of "+key); err != nil {
			return err
		}
		alive, err := st.db.Count(unitsC, bson.D{{"service", service}, {"life", entity.Alive}})
		if err != nil {
			return err
		}
		missing := s.doc.MinUnits - alive
		if missing <= 0 {
			return mongo.ErrNothing
		}
		full = missing <= unitsAtOnce
		o.expect(key, "txn-revno", counts.Revno)
		o.assert(servicesC, service, bson.D{s.doc.keeps()})
		if err := b.addOps(ctx, o, min(missing, unitsAtOnce), nil); err != nil {
			return err
		}
		return nil
	})
	if errors.Is(err, entity.NotAlive) {
		return true, nil // the model is going away
	}
	return full, err
}
