package state

import (
	"context"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// BeginImport checks that a storage instance can have a filesystem, as far as the records say, and returns the
// id that a new one for a store is to have, and the pool. The errors are entity.Invalid, entity.NotFound if
// there is no such pool, entity.InUse if the filesystem is another instance's, and entity.NotAlive.
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
	n, err := p.st.db.Next(ctx, storageSequence, 1)
	return store + "/" + strconv.Itoa(n), from, err
}

// importing reads the model and a pool for an import, and checks that no storage instance has the
// filesystem.
func (p Pools) importing(pool, filesystem string) (model modelDoc, from entity.StoragePool, err error) {
	if model, err = p.st.aliveModel(); err != nil {
		return model, from, err
	}
	doc, _, err := p.st.pool(model, pool)
	if err != nil {
		return model, from, err
	}
	return model, doc.pool(), p.checkFree(filesystem)
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
	left, err := p.st.leftovers(bson.D{{"filesystem", filesystem}})
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
		s := &Storage{st: p.st, doc: storageDoc{lifeDoc: born, ID: id, Pool: from, Size: f.Size, Filesystem: f.ID,
			Made: f.Size}}
		s.doc.Born = s.doc.Since
		o.Insert(storageC, id, s.doc)
		o.bear(s)
		// Of two imports at once the later sees what the earlier has added.
		o.assertModelAlive()
		o.Update(modelC, modelC, unadvanced("imports", model.Imports), bson.D{{"$inc", bson.D{{"imports", 1}}}})
		return nil
	})
}
