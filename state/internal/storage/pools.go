package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// Pools are the storage pools of a model.
type Pools struct{ db *modeltxn.DB }

// PoolsOf returns the pools of a model.
func PoolsOf(db *modeltxn.DB) Pools { return Pools{db} }

// All returns the cloud's pools, starting with the default, then those created by users, in natural order.
func (p Pools) All(ctx context.Context) ([]entity.StoragePool, error) {
	model, err := p.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	var docs []modeldb.Pool
	err = p.db.All(ctx, modeldb.PoolsC, nil, &docs)
	slices.SortFunc(docs, func(a, b modeldb.Pool) int { return entity.CompareNatural(a.Name, b.Name) })
	all := entity.StoragePools(model.Cloud)
	for _, d := range docs {
		all = append(all, d.Pool())
	}
	return all, err
}

// Stores returns the storage that the units of a new service would have: see Constraints.
func (p Pools) Stores(ctx context.Context, meta *charm.Meta, asked map[string]entity.StorageConstraints) (
	map[string]entity.StorageConstraints, error) {
	model, err := p.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	return Constraints(model, meta, asked)
}

// Create adds a pool. The errors are entity.Invalid, entity.NotFound if the cloud has no such
// provider, and entity.AlreadyExists.
func (p Pools) Create(ctx context.Context, pool entity.StoragePool) error {
	return p.db.Change(ctx, func(o *modeltxn.Ops) error {
		model, err := p.db.AliveModel(ctx)
		if err != nil {
			return err
		}
		if err := pool.Check(model.Cloud); err != nil {
			return err
		}
		_, _, err = poolOf(ctx, p.db, model, pool.Name)
		switch {
		case err == nil:
			return entity.Errorf(entity.AlreadyExists, "storage pool %q already exists", pool.Name)
		case !entity.IsNotFound(err):
			return err
		}
		o.AssertModelAlive()
		o.Insert(modeldb.PoolsC, pool.Name, modeldb.Pool{Name: pool.Name, Provider: pool.Provider, Attributes: pool.Attributes})
		return nil
	})
}

// Update replaces the attributes of a pool. Existing storage does not change.
func (p Pools) Update(ctx context.Context, name string, attributes map[string]string) error {
	return p.db.Change(ctx, func(o *modeltxn.Ops) error {
		model, doc, err := p.own(ctx, name)
		if err != nil {
			return err
		}
		pool := doc.Pool()
		if pool.Attributes = attributes; maps.Equal(doc.Attributes, attributes) {
			return mongo.ErrNothing
		}
		if err := pool.Check(model.Cloud); err != nil {
			return err
		}
		o.Update(modeldb.PoolsC, name, modeltxn.Exists, bson.D{{"$set", bson.D{{"attributes", attributes}}}})
		return nil
	})
}

// Remove removes a pool. The error is entity.InUse while storage or a service's storage constraints use it.
func (p Pools) Remove(ctx context.Context, name string) error {
	return p.db.Change(ctx, func(o *modeltxn.Ops) error {
		_, doc, err := p.own(ctx, name)
		if err != nil {
			return err
		}
		user, err := p.user(ctx, name)
		if err != nil {
			return err
		}
		if user != "" {
			return entity.WithHint(entity.Errorf(entity.InUse, "storage pool %q in use", name), "%s", user)
		}
		o.Remove(modeldb.PoolsC, name, bson.D{{"grants", doc.Grants}})
		return nil
	})
}

// user returns what uses a pool, "" if nothing does.
func (p Pools) user(ctx context.Context, name string) (string, error) {
	all, err := p.db.Storages(ctx, bson.D{{"pool.name", name}})
	if err != nil || len(all) > 0 {
		if err == nil {
			return fmt.Sprintf("Storage %s comes from it.", all[0].ID), nil
		}
		return "", err
	}
	services, err := p.db.Services(ctx, nil)
	for _, s := range services {
		for _, store := range slices.Sorted(maps.Keys(s.Stores)) {
			if s.Stores[store].Pool == name {
				return fmt.Sprintf("The units of service %q get storage %q from it.", s.Name, store), nil
			}
		}
	}
	return "", err
}

// own reads the document of a user's pool, and the model's.
func (p Pools) own(ctx context.Context, name string) (model modeldb.Model, doc modeldb.Pool, err error) {
	if model, err = p.db.Model(ctx); err != nil {
		return model, doc, err
	}
	doc, own, err := poolOf(ctx, p.db, model, name)
	switch {
	case entity.IsNotFound(err):
		err = entity.Errorf(entity.NotFound, "storage pool %q not found", name)
	case err == nil && !own:
		err = entity.Errorf(entity.Invalid, "storage pool %q is the cloud's own, and cannot be changed", name)
	}
	return model, doc, err
}

// poolOf reads a pool by its name. own reports whether it was created by a user.
func poolOf(ctx context.Context, db *modeltxn.DB, model modeldb.Model,
	name string) (doc modeldb.Pool, own bool, err error) {
	for _, p := range entity.StoragePools(model.Cloud) {
		if p.Name == name {
			return modeldb.Pool{Name: p.Name, Provider: p.Provider}, false, nil
		}
	}
	err = db.Get(ctx, modeldb.PoolsC, name, &doc, fmt.Sprintf("pool %q", name))
	return doc, true, entity.WithHint(err, "To list the pools: juju storage-pools")
}

// Used are the pools that a transaction uses, by name.
type Used map[string]entity.StoragePool

// Pool reads a pool for storage that the transaction adds or specifies, and asserts that it is not removed meanwhile.
func (u Used) Pool(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, model modeldb.Model,
	name string) (entity.StoragePool, error) {
	if pool, ok := u[name]; ok {
		return pool, nil
	}
	doc, own, err := poolOf(ctx, db, model, name)
	if err != nil {
		return entity.StoragePool{}, err
	}
	u[name] = doc.Pool()
	if own {
		o.Update(modeldb.PoolsC, name, modeltxn.Exists, bson.D{{"$inc", bson.D{{"grants", 1}}}})
	}
	return doc.Pool(), nil
}

// BeginImport checks against the model's documents that a filesystem can be imported as a new storage instance, and
// records the import until Import or EndImport. It returns the id for the instance, and the pool. The errors are
// entity.Invalid, entity.NotFound if there is no such pool, entity.InUse if the filesystem belongs to another instance,
// and entity.NotAlive.
func (p Pools) BeginImport(ctx context.Context, pool, filesystem, store string) (string, entity.StoragePool, error) {
	_, from, err := p.importing(ctx, pool, filesystem)
	if err != nil {
		return "", from, err
	}
	if !entity.IsValidStore(store) {
		return "", from, entity.WithHint(entity.Errorf(entity.Invalid, "storage name %q not valid", store),
			"It is the name of a charm's store, such as data: see metadata.yaml of the charm.")
	}
	if err := limits.CheckFilesystem(entity.Filesystem{ID: filesystem}); err != nil {
		return "", from, err
	}
	n, err := p.db.Next(ctx, modeldb.StorageSequence, 1)
	if err != nil {
		return "", from, err
	}
	doc := modeldb.Import{ID: filesystem, Storage: store + "/" + strconv.Itoa(n), Pool: pool, Began: p.db.Now()}
	return doc.Storage, from, p.db.Change(ctx, func(o *modeltxn.Ops) error {
		if _, err := p.db.AliveModel(ctx); err != nil {
			return err
		}
		_, err := p.begun(ctx, filesystem)
		if err == nil {
			return mongo.ErrNothing // an interrupted import that is repeated
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.AssertModelAlive()
		o.Insert(modeldb.ImportsC, filesystem, doc)
		return nil
	})
}

func (p Pools) begun(ctx context.Context, filesystem string) (doc modeldb.Import, err error) {
	err = p.db.Get(ctx, modeldb.ImportsC, filesystem, &doc, "import of filesystem "+filesystem)
	return doc, err
}

// EndImport removes the record of a filesystem's import as a storage instance, or any import of it if id is empty,
// because the cloud did not import the filesystem or has released it again.
func (p Pools) EndImport(ctx context.Context, filesystem, id string) error {
	return p.db.Change(ctx, func(o *modeltxn.Ops) error {
		doc, err := p.begun(ctx, filesystem)
		if entity.IsNotFound(err) || err == nil && id != "" && doc.Storage != id {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.Remove(modeldb.ImportsC, filesystem, bson.D{{"storage", doc.Storage}})
		return nil
	})
}

// importing reads the model and a pool for an import, and checks that the filesystem is free.
func (p Pools) importing(ctx context.Context, pool,
	filesystem string) (model modeldb.Model, from entity.StoragePool, err error) {
	if model, err = p.db.AliveModel(ctx); err != nil {
		return model, from, err
	}
	doc, _, err := poolOf(ctx, p.db, model, pool)
	if err != nil {
		return model, from, err
	}
	return model, doc.Pool(), p.checkFree(ctx, filesystem)
}

// checkFree returns an entity.InUse error if the filesystem belongs to a storage instance, or to a removed one and is
// still to be destroyed or released.
func (p Pools) checkFree(ctx context.Context, filesystem string) error {
	has, err := p.db.Storages(ctx, bson.D{{"filesystem", filesystem}})
	if err != nil {
		return err
	}
	if len(has) > 0 {
		return entity.WithHint(entity.Errorf(entity.InUse, "filesystem %q is that of storage %q", filesystem, has[0].ID),
			"To see it: juju show-storage %s", has[0].ID)
	}
	left, err := p.db.Leftovers(ctx, bson.D{{"filesystem", filesystem}})
	if err == nil && len(left) > 0 {
		err = entity.Errorf(entity.InUse, "filesystem %q is still to be removed or released", filesystem)
	}
	return err
}

// Import adds the storage instance with an id from BeginImport and the filesystem that the cloud has imported. The
// errors are BeginImport's, and entity.AlreadyExists if the id is in use.
func (p Pools) Import(ctx context.Context, id, pool string, f entity.Filesystem) error {
	if err := limits.CheckFilesystem(f); err != nil {
		return err
	}
	born := modeldb.Living{Since: p.db.Now()}
	return p.db.Change(ctx, func(o *modeltxn.Ops) error {
		model, _, err := p.importing(ctx, pool, f.ID)
		if err != nil {
			return err
		}
		if _, err := p.db.Storage(ctx, id); err == nil {
			return entity.Errorf(entity.AlreadyExists, "storage %q already exists", id)
		} else if !entity.IsNotFound(err) {
			return err
		}
		from, err := Used{}.Pool(ctx, p.db, o, model, pool)
		if err != nil {
			return err
		}
		s := modeldb.Storage{Living: born, ID: id, Pool: from, Size: f.Size, Filesystem: f.ID, Made: f.Size}
		s.Born = s.Since
		insert(o, s)
		o.Remove(modeldb.ImportsC, f.ID, nil)
		// Of two concurrent imports, the later one sees the instance added by the earlier one.
		o.AssertModelAlive()
		o.Update(modeldb.ModelC, modeldb.ModelC, mongo.Unadvanced("imports", model.Imports), bson.D{{"$inc", bson.D{{"imports", 1}}}})
		return nil
	})
}
