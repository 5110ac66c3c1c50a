package state

import (
	"context"
	"errors"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
	"juju/state/watcher"
)

// MinUnits returns the minimum number of Alive units of the service; 0 if it has none.
func (s *Service) MinUnits() int { return s.doc.MinUnits }

// SetMinUnits sets the minimum number of Alive units of the service. Missing units are
// added, now and whenever one is destroyed. 0 removes the minimum.
func (s *Service) SetMinUnits(ctx context.Context, n int) error {
	token := mongo.NewID()
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if err := limits.CheckMinUnits(n); err != nil {
			return err
		}
		switch {
		case s.doc.Subordinate:
			return entity.WithHint(entity.Errorf(entity.Invalid, "service is a subordinate"),
				"It has a unit beside each unit of the services that it is related to.")
		case s.doc.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "service is not alive")
		case s.doc.MinUnits == n:
			return mongo.ErrNothing
		}
		name, assert := s.doc.Name, append(bson.D{s.doc.KeepsMinUnits()}, modeltxn.IsAlive...)
		switch {
		case n == 0:
			o.Update(modeldb.ServicesC, name, assert, bson.D{{"$unset", bson.D{{"minunits", 1}}}})
			o.Remove(modeldb.MinUnitsC, name, modeltxn.Exists)
		case s.doc.MinUnits == 0:
			o.Update(modeldb.ServicesC, name, assert, bson.D{{"$set", bson.D{{"minunits", n}}}})
			o.Insert(modeldb.MinUnitsC, name, modeldb.MinUnits{Service: name, Token: token})
		default:
			o.Update(modeldb.ServicesC, name, assert, bson.D{{"$set", bson.D{{"minunits", n}}}})
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
	o.Update(modeldb.MinUnitsC, service, modeltxn.Exists, bson.D{{"$inc", bson.D{{"changes", 1}}}})
}

// fewerUnitsOps is part of every move of an Alive unit to another life. If the service has a minimum, it changes the
// document that is watched for that; else it asserts that there is none, so that a minimum set meanwhile excludes the
// unit.
func (st *State) fewerUnitsOps(ctx context.Context, o *ops, service string) error {
	svc, err := st.Service(ctx, service)
	if err != nil {
		return err
	}
	switch {
	case svc.doc.Life != entity.Alive: // only Alive services have a minimum
	case svc.doc.MinUnits > 0:
		o.wakeMinUnits(service)
	default:
		o.Assert(modeldb.ServicesC, service, bson.D{svc.doc.KeepsMinUnits()})
	}
	return nil
}

// MinUnits maintains services' minimum numbers of units.
type MinUnits struct{ st *State }

// MinUnits returns what maintains minimum numbers of units.
func (st *State) MinUnits() MinUnits { return MinUnits{st} }

// WatchMinUnits sends the names of services that may have fewer units than their minimum.
func (m MinUnits) WatchMinUnits(ctx context.Context) (<-chan []string, error) {
	type value struct {
		token   string
		changes int64
	}
	return watcher.Strings(ctx, m.st.hub, watcher.Listing[value]{
		Topics: []watcher.Topic{watcher.Collection(modeldb.MinUnitsC)},
		List: func(services []string) (map[string]value, error) {
			var query bson.D
			if services != nil {
				query = bson.D{{"_id", bson.D{{"$in", services}}}}
			}
			var docs []modeldb.MinUnits
			if err := m.st.db.All(ctx, modeldb.MinUnitsC, query, &docs); err != nil {
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

// EnsureMinUnits adds units to a service until it has its minimum of Alive ones. It does nothing if there are enough, or
// the service or the model is not Alive. Concurrent calls do not add too many.
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

// ensureSome adds as many units as fit in one transaction, and reports whether that is enough.
func (st *State) ensureSome(ctx context.Context, service string) (full bool, err error) {
	s, err := st.Service(ctx, service)
	if entity.IsNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	b := unitBatch{service: s, born: st.born()}
	err = st.change(ctx, func(o *ops) error {
		full = true
		if err := s.refresh(ctx); entity.IsNotFound(err) || err == nil &&
			(s.doc.MinUnits == 0 || s.doc.Life != entity.Alive) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		// Units that are no longer Alive change no counts, but each of them changes the watched document.
		if err := o.KeepCounts(ctx, st.db, modeldb.ServiceKey(service)); err != nil {
			return err
		}
		alive, err := st.db.Count(ctx, modeldb.UnitsC, bson.D{{"service", service}, {"life", entity.Alive}})
		if err != nil {
			return err
		}
		missing := s.doc.MinUnits - alive
		if missing <= 0 {
			return mongo.ErrNothing
		}
		o.Assert(modeldb.ServicesC, service, bson.D{s.doc.KeepsMinUnits()})
		err = b.addOps(ctx, o, missing, nil)
		full = len(b.names) == missing
		return err
	})
	if errors.Is(err, entity.NotAlive) {
		return true, nil // the model is not Alive
	}
	return full, err
}
