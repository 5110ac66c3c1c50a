package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/resources"
)

// Resources returns the model's uploads of resources.
func (st *State) Resources() resources.Resources { return resources.Of(st.db, st.host.Archives) }

// An Upload identifies the resource that a file is for.
type Upload = resources.Upload

// PendingResources announces uploads for a service.
type PendingResources = resources.Pending

// Refers reports whether the model uses the file with this SHA-256, or has a cleanup that will release it.
func (st *State) Refers(ctx context.Context, sum string) (bool, error) {
	return resources.Refers(ctx, st.db, sum)
}

// Resources returns the resources that the service's charm declares, sorted by name, with their
// files, and which files the units have.
func (s *Service) Resources(ctx context.Context) (entity.ResourcesOf, error) {
	return resources.OfService(ctx, s.st.db, s.doc)
}

// MissingResources returns the names of files that the service's charm declares but no one has uploaded, sorted.
func (s *Service) MissingResources(ctx context.Context) (names []string, err error) {
	all, err := resources.Declared(ctx, s.st.db, s.doc)
	for _, r := range all {
		if r.File == nil && r.Type == "file" {
			names = append(names, r.Name)
		}
	}
	return names, err
}

// Resource returns a resource that the service's charm declares; the error is entity.Invalid if it
// declares none of this name.
func (s *Service) Resource(ctx context.Context, name string) (r entity.Resource, err error) {
	ch, err := s.st.db.Charm(ctx, s.doc.CharmURL)
	if err == nil {
		err = resources.Check(ch.Meta, name)
	}
	if err != nil {
		return r, err
	}
	return resources.One(ctx, s.st.db, s.doc.Name, ch.Meta.Resources[name])
}

// Resource returns a resource that the unit's charm declares; the error is entity.NotFound if it
// declares none of this name.
func (u *Unit) Resource(ctx context.Context, name string) (r entity.Resource, err error) {
	ch, err := u.charm(ctx)
	if err != nil {
		return r, err
	}
	declared, ok := ch.Meta.Resources[name]
	if !ok {
		return r, entity.Errorf(entity.NotFound, "charm %q has no resource %q", ch.Meta.Name, name)
	}
	return resources.One(ctx, u.st.db, u.doc.Service, declared)
}

// charm returns the charm that the unit runs or will run.
func (u *Unit) charm(ctx context.Context) (*charm.Charm, error) {
	url := u.doc.CharmURL
	if url == "" {
		s, err := u.st.Service(ctx, u.doc.Service)
		if err != nil {
			return nil, err
		}
		url = s.doc.CharmURL
	}
	return u.st.db.Charm(ctx, url)
}

// SetFetched records that the unit has fetched the file of a resource.
func (u *Unit) SetFetched(ctx context.Context, name string, file entity.ResourceFile) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		return resources.SetFetched(ctx, u.st.db, o.Ops, u.doc.Name, name, file)
	})
}

// SetResources sets the service's resources to uploaded files, by ids from AddPending; its units run upgrade-charm. A
// file that is already the resource's has no effect.
func (s *Service) SetResources(ctx context.Context, ids map[string]string) error {
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if s.doc.Life != entity.Alive {
			return entity.Errorf(entity.NotAlive, "service %q is not alive", s.doc.Name)
		}
		ch, err := s.st.db.Charm(ctx, s.doc.CharmURL)
		if err != nil {
			return err
		}
		version, err := resources.Give(ctx, s.st.db, o.Ops, s.doc, ch.Meta, ids)
		if err != nil {
			return err
		}
		if version != s.doc.Resources {
			o.Update(modeldb.ServicesC, s.doc.Name, bson.D{{"life", entity.Alive}, {"charm", s.doc.CharmURL}},
				bson.D{{"$set", bson.D{{"resources", version}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set resources of service %q: %w", s.doc.Name, err)
	}
	return nil
}
