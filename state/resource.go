package state

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// resources reads the resources document of a service or unit, nil if it has none.
func (st *State) resources(key string) (*modeldb.Resources, error) {
	doc := &modeldb.Resources{}
	err := st.db.Get(modeldb.ResourcesC, key, doc, "resources of "+key)
	if entity.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return doc, nil
}

// Resources returns the resources that the service's charm declares, sorted by name, with their
// files, and which files the units have.
func (s *Service) Resources(ctx context.Context) (of entity.ResourcesOf, err error) {
	if of.Resources, err = s.declared(ctx); err != nil {
		return of, err
	}
	units, err := s.st.units(bson.D{{"service", s.doc.Name}})
	if err != nil {
		return of, err
	}
	keys := make([]string, len(units))
	for i, u := range units {
		keys[i] = modeldb.UnitKey(u.doc.Name)
	}
	var fetched []modeldb.Resources
	if err := s.st.db.All(modeldb.ResourcesC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &fetched); err != nil {
		return of, err
	}
	has := make(map[string]modeldb.Resources, len(fetched))
	for _, doc := range fetched {
		has[doc.ID] = doc
	}
	of.Units = make(map[string]map[string]entity.ResourceFile, len(units))
	for i, u := range units {
		of.Units[u.doc.Name] = modeldb.UnescapeKeys(has[keys[i]].Files)
	}
	return of, nil
}

// declared returns the resources that the service's charm declares, sorted by name, with their files.
func (s *Service) declared(ctx context.Context) (all []entity.Resource, err error) {
	ch, err := s.st.db.Charm(s.doc.CharmURL)
	if err != nil || len(ch.Meta.Resources) == 0 {
		return nil, err
	}
	doc, err := s.st.resources(modeldb.ServiceKey(s.doc.Name))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(ch.Meta.Resources)) {
		all = append(all, resourceOf(ch.Meta.Resources[name], doc.File(name)))
	}
	return all, nil
}

// MissingResources returns the names of the files that the service's charm declares and no one has
// uploaded, sorted.
func (s *Service) MissingResources(ctx context.Context) (names []string, err error) {
	all, err := s.declared(ctx)
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
	ch, err := s.st.db.Charm(s.doc.CharmURL)
	if err == nil {
		err = checkResource(ch.Meta, name)
	}
	if err != nil {
		return r, err
	}
	return s.st.resource(s.doc.Name, ch.Meta.Resources[name])
}

// resource returns a resource with the file that a service has for it.
func (st *State) resource(service string, declared charm.Resource) (r entity.Resource, err error) {
	doc, err := st.resources(modeldb.ServiceKey(service))
	if err != nil {
		return r, err
	}
	return resourceOf(declared, doc.File(declared.Name)), nil
}

func resourceOf(r charm.Resource, file *entity.ResourceFile) entity.Resource {
	return entity.Resource{Name: r.Name, Type: r.Type, Filename: r.Filename, Description: r.Description, File: file}
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
	return u.st.resource(u.doc.Service, declared)
}

// charm returns the charm that the unit runs, or is to run.
func (u *Unit) charm(ctx context.Context) (*charm.Charm, error) {
	url := u.doc.CharmURL
	if url == "" {
		s, err := u.st.Service(ctx, u.doc.Service)
		if err != nil {
			return nil, err
		}
		url = s.doc.CharmURL
	}
	return u.st.db.Charm(url)
}

// SetFetched records that the unit has fetched the file of a resource.
func (u *Unit) SetFetched(ctx context.Context, name string, file entity.ResourceFile) error {
	key, field := modeldb.UnitKey(u.doc.Name), modeldb.EscapeKey(name)
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		doc, err := u.st.resources(key)
		if err != nil {
			return err
		}
		if has := doc.File(name); has != nil && has.SHA256 == file.SHA256 && has.Upload == file.Upload {
			return mongo.ErrNothing
		}
		o.Assert(modeldb.UnitsC, u.doc.Name, modeltxn.Exists)
		o.putFiles(doc, key, map[string]entity.ResourceFile{field: file})
		return nil
	})
}

// putFiles adds the operations that set files in a resources document, nil if there is none yet.
// It returns the document's new version.
func (o *ops) putFiles(doc *modeldb.Resources, key string, files map[string]entity.ResourceFile) int64 {
	if doc == nil {
		o.Insert(modeldb.ResourcesC, key, modeldb.Resources{ID: key, Files: files, Version: 1})
		return 1
	}
	set := bson.D{{"version", doc.Version + 1}}
	for _, field := range slices.Sorted(maps.Keys(files)) {
		set = append(set, bson.DocElem{Name: "files." + field, Value: files[field]})
	}
	o.Update(modeldb.ResourcesC, key, bson.D{{"version", doc.Version}}, bson.D{{"$set", set}})
	return doc.Version + 1
}

// Open opens the file of a resource.
func (r Resources) Open(file entity.ResourceFile) (io.ReadCloser, error) {
	content, err := r.st.host.Archives.Open(file.SHA256)
	if err != nil {
		return nil, fmt.Errorf("cannot open the file of a resource: %w", err)
	}
	return content, nil
}
