package state

import (
	"context"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// BeginImport checks that a new storage instance can have a filesystem, as far as the model's documents say, and
// records the import, which Import or EndImport ends. It returns the id for the instance, and the pool. The
// errors are entity.Invalid, entity.NotFound if there is no such pool, entity.InUse if the filesystem is another
// instance's, and entity.NotAlive.
func (p Pools) BeginImport(ctx context.Context, pool, filesystem, store string) (string, entity.StoragePool, error) {
	_, from, err := p.importing(pool, filesystem)
	if err != nil {
		return "", from, err
	}
	if !entity.IsValidStore(store) {
		return "", from, entity.WithHint(entity.Errorf(entity.Invalid, "storage name %q not valid", store),
			"It is the name of a charm's store, such as data: see metadata.yaml of the charm.")
	}
	if err := (entity.Filesystem{ID: filesystem}).Check(); err != nil {
		return "", from, err
	}
	n, err := p.st.db.Next(ctx, modeldb.StorageSequence, 1)
	if err != nil {
		return "", from, err
	}
	doc := modeldb.Import{ID: filesystem, Storage: store + "/" + strconv.Itoa(n), Pool: pool, Began: p.st.db.Now()}
	return doc.Storage, from, p.st.change(ctx, func(o *ops) error {
		if _, err := p.st.db.AliveModel(); err != nil {
			return err
		}
		_, err := p.begun(filesystem)
		if err == nil {
			return mongo.ErrNothing // one that was cut off, and is repeated
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.AssertModelAlive()
		o.Insert(modeldb.ImportsC, filesystem, doc)
		return nil
	})
}

func (p Pools) begun(filesystem string) (doc modeldb.Import, err error) {
	err = p.st.db.Get(modeldb.ImportsC, filesystem, &doc, "import of filesystem "+filesystem)
	return doc, err
}

// EndImport removes the record of a filesystem's import if it was for a storage instance, or whichever it was for
// if id is empty: the cloud has not taken in the filesystem, or has given it up again.
func (p Pools) EndImport(ctx context.Context, filesystem, id string) error {
	return p.st.change(ctx, func(o *ops) error {
		doc, err := p.begun(filesystem)
		if entity.IsNotFound(err) || err == nil && id != "" && doc.Storage != id {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.Remove(modeldb.ImportsC, filesystem, bson.D{{"storage", doc.Storage}})
		return nil
	})
}

// importing reads the model and a pool for an import, and checks that no storage instance has the
// filesystem.
func (p Pools) importing(pool, filesystem string) (model modeldb.Model, from entity.StoragePool, err error) {
	if model, err = p.st.db.AliveModel(); err != nil {
		return model, from, err
	}
	doc, _, err := p.st.pool(model, pool)
	if err != nil {
		return model, from, err
	}
	return model, doc.Pool(), p.checkFree(filesystem)
}

// checkFree returns an entity.InUse error if a storage instance has the filesystem, or a removed one has
// left it to be destroyed or released.
func (p Pools) checkFree(filesystem string) error {
	has, err := p.st.storages(bson.D{{"filesystem", filesystem}})
	if err != nil {
		return err
	}
	if len(has) > 0 {
		return entity.WithHint(entity.Errorf(entity.InUse, "filesystem %q is that of storage %q", filesystem, has[0].doc.ID),
			"See it: juju show-storage %s", has[0].doc.ID)
	}
	left, err := p.st.db.Leftovers(bson.D{{"filesystem", filesystem}})
	if err == nil && len(left) > 0 {
		err = entity.Errorf(entity.InUse, "filesystem %q is still to be removed or released", filesystem)
	}
	return err
}

// Import adds the storage instance for which BeginImport has returned the id, with the filesystem that the
// cloud has taken in. The errors are BeginImport's; entity.AlreadyExists if the id is taken.
func (p Pools) Import(ctx context.Context, id, pool string, f entity.Filesystem) error {
	if err := f.Check(); err != nil {
		return err
	}
	born := p.st.born()
	return p.st.change(ctx, func(o *ops) error {
		model, _, err := p.importing(pool, f.ID)
		if err != nil {
			return err
		}
		from, err := p.st.poolOps(o, model, pool)
		if err != nil {
			return err
		}
		s := &Storage{st: p.st, doc: modeldb.Storage{Living: born, ID: id, Pool: from, Size: f.Size, Filesystem: f.ID,
			Made: f.Size}}
		s.doc.Born = s.doc.Since
		o.Insert(modeldb.StorageC, id, s.doc)
		o.bear(s)
		o.Remove(modeldb.ImportsC, f.ID, nil)
		// Of two imports at once the later sees what the earlier has added.
		o.AssertModelAlive()
		o.Update(modeldb.ModelC, modeldb.ModelC, modeltxn.Unadvanced("imports", model.Imports), bson.D{{"$inc", bson.D{{"imports", 1}}}})
		return nil
	})
}
