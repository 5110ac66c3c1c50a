// Package resources manages the resources of a model's services: the files that users upload and units fetch. A file is
// uploaded before a service uses it, and released once nothing does.
package resources

import (
	"context"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// read reads the resources document of a service or unit; nil if it has none.
func read(ctx context.Context, db *modeltxn.DB, key string) (*modeldb.Resources, error) {
	doc := &modeldb.Resources{}
	err := db.Get(ctx, modeldb.ResourcesC, key, doc, "resources of "+key)
	if entity.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return doc, nil
}

// OfService returns the resources that a service's charm declares, sorted by name, with their files and with
// the files that the units have.
func OfService(ctx context.Context, db *modeltxn.DB, s modeldb.Service) (of entity.ResourcesOf, err error) {
	if of.Resources, err = Declared(ctx, db, s); err != nil {
		return of, err
	}
	units, err := db.Units(ctx, bson.D{{"service", s.Name}})
	if err != nil {
		return of, err
	}
	keys := make([]string, len(units))
	for i, u := range units {
		keys[i] = modeldb.UnitKey(u.Name)
	}
	var fetched []modeldb.Resources
	if err := db.All(ctx, modeldb.ResourcesC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &fetched); err != nil {
		return of, err
	}
	has := make(map[string]modeldb.Resources, len(fetched))
	for _, doc := range fetched {
		has[doc.ID] = doc
	}
	of.Units = make(map[string]map[string]entity.ResourceFile, len(units))
	for i, u := range units {
		of.Units[u.Name] = modeldb.UnescapeKeys(has[keys[i]].Files)
	}
	return of, nil
}

// Declared returns the resources that a service's charm declares, sorted by name, with their files.
func Declared(ctx context.Context, db *modeltxn.DB, s modeldb.Service) (all []entity.Resource, err error) {
	ch, err := db.Charm(ctx, s.CharmURL)
	if err != nil || len(ch.Meta.Resources) == 0 {
		return nil, err
	}
	doc, err := read(ctx, db, modeldb.ServiceKey(s.Name))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(ch.Meta.Resources)) {
		all = append(all, resourceOf(ch.Meta.Resources[name], doc.File(name)))
	}
	return all, nil
}

// One returns a resource with the file that a service has for it.
func One(ctx context.Context, db *modeltxn.DB, service string, declared charm.Resource) (r entity.Resource, err error) {
	doc, err := read(ctx, db, modeldb.ServiceKey(service))
	if err != nil {
		return r, err
	}
	return resourceOf(declared, doc.File(declared.Name)), nil
}

func resourceOf(r charm.Resource, file *entity.ResourceFile) entity.Resource {
	return entity.Resource{Name: r.Name, Type: r.Type, Filename: r.Filename, Description: r.Description, File: file}
}

// Check returns an error for a resource that the charm does not declare, or that is not a file.
func Check(meta *charm.Meta, name string) error {
	declared, ok := meta.Resources[name]
	switch {
	case !ok:
		return entity.Errorf(entity.Invalid, "unrecognized resource %q", name)
	case declared.Type != "file":
		return entity.Errorf(entity.NotSupported, "resource %q is of type %s, which is only for Kubernetes", name,
			declared.Type)
	}
	return nil
}

// Give gives a service the files of uploads, for the resources that a charm declares. It
// returns the new value of modeldb.Service.Resources.
func Give(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, s modeldb.Service, meta *charm.Meta,
	ids map[string]string) (int64, error) {
	if len(ids) == 0 {
		return s.Resources, nil
	}
	has, err := read(ctx, db, modeldb.ServiceKey(s.Name))
	if err != nil {
		return 0, err
	}
	files, taken := map[string]entity.ResourceFile{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if err := Check(meta, name); err != nil {
			return 0, err
		}
		old := has.File(name)
		if old != nil && old.Upload == ids[name] {
			continue // an earlier attempt, whose response was lost, did it
		}
		doc, err := upload(ctx, db, s.Name, name, ids[name])
		if err == nil && !doc.Stored {
			err = entity.Errorf(entity.Invalid, "resource %q was not uploaded", name)
		}
		if err != nil {
			return 0, err
		}
		taken = append(taken, doc.ID)
		if old != nil && old.SHA256 == doc.SHA256 {
			continue
		}
		if old != nil {
			releaseFile(o, old.SHA256)
		}
		files[modeldb.EscapeKey(name)] = doc.ResourceFile
	}
	version := s.Resources
	if len(files) > 0 {
		version = putFiles(o, has, modeldb.ServiceKey(s.Name), files)
	}
	// Do this last, so that the file has a record at all times.
	for _, id := range taken {
		o.Remove(modeldb.UploadsC, id, bson.D{{"stored", true}})
	}
	return version, nil
}

// SetFetched records in a transaction that a unit has fetched the file of a resource. It returns
// mongo.ErrNothing if that is already recorded.
func SetFetched(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, unit, name string,
	file entity.ResourceFile) error {
	key := modeldb.UnitKey(unit)
	doc, err := read(ctx, db, key)
	if err != nil {
		return err
	}
	if has := doc.File(name); has != nil && has.SHA256 == file.SHA256 && has.Upload == file.Upload {
		return mongo.ErrNothing
	}
	o.Assert(modeldb.UnitsC, unit, modeltxn.Exists)
	putFiles(o, doc, key, map[string]entity.ResourceFile{modeldb.EscapeKey(name): file})
	return nil
}

// putFiles adds the operations that set files in a resources document, which is nil if it does not exist yet. It
// returns the document's new version.
func putFiles(o *modeltxn.Ops, doc *modeldb.Resources, key string, files map[string]entity.ResourceFile) int64 {
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

// releaseFile adds a cleanup that releases a file that is no longer used here.
func releaseFile(o *modeltxn.Ops, sum string) {
	id := modeldb.CleanupArchive + "-" + mongo.NewID()
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupArchive, Arg: sum})
}

// Release adds the cleanups that release the files of a service that is being removed.
func Release(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, service string) error {
	doc, err := read(ctx, db, modeldb.ServiceKey(service))
	if err != nil || doc == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Files)) {
		releaseFile(o, doc.Files[name].SHA256)
	}
	return nil
}

// Refers reports whether the model uses the file with this SHA-256, or a cleanup is pending that will release it.
func Refers(ctx context.Context, db *modeltxn.DB, sum string) (bool, error) {
	n, err := db.Count(ctx, modeldb.CleanupsC, bson.D{{"kind", modeldb.CleanupArchive}, {"arg", sum}})
	if err != nil || n > 0 {
		return n > 0, err
	}
	return Uses(ctx, db, sum)
}

// Uses reports whether a charm or a resource of the model uses the file with this SHA-256.
func Uses(ctx context.Context, db *modeltxn.DB, sum string) (bool, error) {
	// Read resources after uploads, because uploads become resources.
	for _, by := range [][2]string{{modeldb.CharmsC, "sha256"}, {modeldb.UploadsC, "sha256"}} {
		if n, err := db.Count(ctx, by[0], bson.D{{by[1], sum}}); err != nil || n > 0 {
			return n > 0, err
		}
	}
	var docs []modeldb.Resources
	if err := db.All(ctx, modeldb.ResourcesC, bson.D{{"_id", bson.D{{"$gt", "s#"}, {"$lt", "s$"}}}}, &docs); err != nil {
		return false, err
	}
	for _, doc := range docs {
		for _, f := range doc.Files {
			if f.SHA256 == sum {
				return true, nil
			}
		}
	}
	return false, nil
}
