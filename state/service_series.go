package state

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
)

// SetSeries sets the series that new units of an Alive service get, and with it that of the subordinate services which run
// beside them. Units that exist keep theirs. The error is entity.Invalid if one of their charms names other series, unless
// force is set, and entity.NotSupported if the service is a subordinate itself.
func (s *Service) SetSeries(ctx context.Context, series string, force bool) error {
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		switch {
		case !charm.IsValidSeries(series):
			return entity.InvalidSeries(series)
		case s.doc.Subordinate:
			return entity.WithHint(entity.Errorf(entity.NotSupported, "service is a subordinate"),
				"Set the base of the services that it is related to: it gets theirs.")
		case s.doc.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "service is not alive")
		}
		all, err := s.withSubordinates(ctx, o)
		if err != nil {
			return err
		}
		changes := false
		for _, svc := range all {
			ch, err := s.st.db.Charm(ctx, svc.doc.CharmURL)
			if err != nil {
				return err
			}
			if !force && !ch.Meta.Supports(series) {
				return unsupported(ch.Meta, series)
			}
			// The charm was checked against the series. The others are asserted even if they have it already: all change together.
			keeps := bson.D{{"life", svc.doc.Life}, {"charm", svc.doc.CharmURL}, {"series", svc.doc.Series}}
			if svc.doc.Series == series {
				o.Assert(modeldb.ServicesC, svc.doc.Name, keeps)
				continue
			}
			changes = true
			o.Update(modeldb.ServicesC, svc.doc.Name, keeps, bson.D{{"$set", bson.D{{"series", series}}}})
		}
		if !changes {
			return mongo.ErrNothing
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set the base of service %q: %w", s.doc.Name, err)
	}
	return nil
}

// withSubordinates returns a principal service, which was just read, and the subordinate services that are related to it. It
// asserts that there are no others.
func (s *Service) withSubordinates(ctx context.Context, o *ops) ([]*Service, error) {
	if err := o.KeepCounts(ctx, s.st.db, modeldb.ServiceKey(s.doc.Name)); err != nil {
		return nil, err
	}
	relations, err := s.st.relationsOf(ctx, s.doc.Name)
	if err != nil {
		return nil, err
	}
	all, seen := []*Service{s}, map[string]bool{}
	for _, r := range relations {
		other := r.doc.Counterpart(s.doc.Name).Service
		if !r.doc.IsContainer() || seen[other] {
			continue
		}
		seen[other] = true
		svc, err := s.st.Service(ctx, other)
		if err != nil {
			return nil, err
		}
		if svc.doc.Subordinate {
			all = append(all, svc)
		}
	}
	return all, nil
}

// unsupported returns the error for a series that a charm does not name, with the bases of those that it does.
func unsupported(meta *charm.Meta, series string) error {
	return entity.WithHint(entity.Errorf(entity.Invalid, "base %q not supported by charm %q, supported bases are: %s",
		entity.BaseOf(series).Short(), meta.Name, strings.Join(meta.BaseNames(), ", ")), "To set it anyway: --force")
}
