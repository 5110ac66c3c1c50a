package facades

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
)

func storageStorageDetails(
	ctx context.Context, c *Caller, p params.Entities,
) (params.StorageDetailsResults, error) {
	return params.StorageDetailsResults{Results: each(c, "StorageDetails", p.Entities,
		func(e *params.Error) params.StorageDetailsResult { return params.StorageDetailsResult{Error: e} },
		func(e params.Entity) (r params.StorageDetailsResult, err error) {
			if err := isKind(e.Tag, entity.KindStorage); err != nil {
				return r, err
			}
			all, err := c.Model.StorageStatus(ctx, e.Tag.ID)
			if err == nil {
				err = c.importIDs(ctx, all)
			}
			if err != nil {
				return r, err
			}
			result := params.StorageDetailsOf(all[0])
			r.Result = &result
			return r, nil
		})}, nil
}

func storageListStorageDetails(
	ctx context.Context, c *Caller, p params.StorageFilters,
) (params.StorageDetailsListResults, error) {
	var results params.StorageDetailsListResults
	all, err := c.storageOf(ctx)
	if err != nil {
		return results, err
	}
	list := make([]params.StorageDetails, len(all))
	for i, s := range all {
		list[i] = params.StorageDetailsOf(s)
	}
	for range p.Filters {
		if err := c.keep(ctx, list); err != nil { // each is written
			return results, err
		}
		results.Results = append(results.Results, params.StorageDetailsListResult{Result: list})
	}
	return results, nil
}

// storageOf returns the storage of the caller's model. While the cloud is away it has no ids to import it with: a list, which
// status has too, is of use without.
func (c *Caller) storageOf(ctx context.Context) ([]entity.StorageStatus, error) {
	all, err := c.Model.StorageStatus(ctx)
	if err == nil {
		if err := c.importIDs(ctx, all); err != nil {
			logger.Warningf("%s: model %s: %v", c.Request, c.Model.Name(), err)
		}
	}
	return all, err
}

// storageListFilesystems lists the filesystems of storage instances, for each filter.
func storageListFilesystems(ctx context.Context, c *Caller,
	p params.FilesystemFilters) (params.FilesystemDetailsListResults, error) {
	var results params.FilesystemDetailsListResults
	all, err := c.storageOf(ctx)
	for _, filter := range p.Filters {
		var list params.FilesystemDetailsListResult
		for _, s := range all {
			if filter.Selects(s) {
				list.Result = append(list.Result, params.FilesystemDetailsOf(s))
			}
		}
		if err := c.keep(ctx, list); err != nil {
			return results, err
		}
		results.Results = append(results.Results, list)
	}
	return results, err
}

// storageListVolumes returns no block devices for each filter: storage here is filesystems.
func storageListVolumes(_ context.Context, _ *Caller, p params.VolumeFilters) (params.VolumeDetailsListResults, error) {
	return params.VolumeDetailsListResults{Results: make([]params.VolumeDetailsListResult, len(p.Filters))}, nil
}

func storageAddToUnit(ctx context.Context, c *Caller, p params.StoragesAddParams) (params.AddStorageResults, error) {
	return params.AddStorageResults{Results: each(c, "AddToUnit", p.Storages,
		func(e *params.Error) params.AddStorageResult { return params.AddStorageResult{Error: e} },
		func(one params.StorageAddParams) (r params.AddStorageResult, err error) {
			if err := isKind(one.UnitTag, entity.KindUnit); err != nil {
				return r, err
			}
			u, err := c.Model.Unit(ctx, one.UnitTag.ID)
			if err != nil {
				return r, err
			}
			one.Constraints.Count = max(one.Constraints.Count, 1)
			if err := c.checkSizes(ctx, map[string]entity.StorageConstraints{one.StorageName: one.Constraints}); err != nil {
				return r, err
			}
			ids, err := u.AddStorage(ctx, one.StorageName, one.Constraints)
			r.Result = &params.AddStorageDetails{}
			for _, id := range ids {
				r.Result.StorageTags = append(r.Result.StorageTags, params.TagOf(entity.StorageTag(id)))
			}
			return r, err
		})}, nil
}

func storageAttach(ctx context.Context, c *Caller, p params.StorageAttachmentIDs) (params.ErrorResults, error) {
	return outcomes(c, "Attach", p.IDs, func(one params.StorageAttachmentID) error {
		if err := isKind(one.StorageTag, entity.KindStorage); err != nil {
			return err
		}
		if err := isKind(one.UnitTag, entity.KindUnit); err != nil {
			return err
		}
		u, err := c.Model.Unit(ctx, one.UnitTag.ID)
		if err != nil {
			return err
		}
		return u.AttachStorage(ctx, one.StorageTag.ID)
	}), nil
}

func storageDetachStorage(
	ctx context.Context, c *Caller, p params.StorageDetachmentParams,
) (params.ErrorResults, error) {
	how, err := params.Destruction{Force: p.Force != nil && *p.Force, MaxWait: p.MaxWait}.Read()
	if err != nil {
		return params.ErrorResults{}, err
	}
	return outcomes(c, "DetachStorage", p.StorageIDs.IDs, func(one params.StorageAttachmentID) error {
		if err := isKind(one.StorageTag, entity.KindStorage); err != nil {
			return err
		}
		s, err := c.Model.Storage(ctx, one.StorageTag.ID)
		if err != nil {
			return err
		}
		return s.Detach(ctx, how)
	}), nil
}

func storageRemove(ctx context.Context, c *Caller, p params.RemoveStorage) (params.ErrorResults, error) {
	return outcomes(c, "Remove", p.Storage, func(one params.RemoveStorageInstance) error {
		if err := isKind(one.Tag, entity.KindStorage); err != nil {
			return err
		}
		force := one.DestroyAttachments || one.Force != nil && *one.Force
		how, err := params.Destruction{Force: force, MaxWait: one.MaxWait}.Read()
		if err != nil {
			return err
		}
		s, err := c.Model.Storage(ctx, one.Tag.ID)
		if err != nil {
			return err
		}
		return s.Destroy(ctx, how, !one.DestroyStorage)
	}), nil
}

// importIDs sets the ids with which other models can import the storage. It opens the cloud only to compute names, and
// only if some storage is persistent.
func (c *Caller) importIDs(ctx context.Context, all []entity.StorageStatus) error {
	lasts := func(s entity.StorageStatus) bool { return s.Persistent && s.Filesystem != "" }
	if !slices.ContainsFunc(all, lasts) {
		return nil
	}
	return c.askCloud(ctx, func(_ context.Context, cloud Cloud) error {
		for i, s := range all {
			if lasts(s) {
				all[i].ImportID = cloud.ImportID(s.Filesystem)
			}
		}
		return nil
	})
}

func storageImport(
	ctx context.Context, c *Caller, p params.BulkImportStorageParams,
) (params.ImportStorageResults, error) {
	return params.ImportStorageResults{Results: each(c, "Import", p.Storage,
		func(e *params.Error) params.ImportStorageResult { return params.ImportStorageResult{Error: e} },
		func(one params.ImportStorageParams) (r params.ImportStorageResult, err error) {
			if one.Kind != params.FilesystemKind {
				return r, entity.Errorf(entity.NotSupported, "storage kind %d not supported: only filesystems can be imported",
					one.Kind)
			}
			id, err := c.importStorage(ctx, one.Pool, one.ProviderID, one.StorageName)
			if err != nil {
				return r, fmt.Errorf("cannot import storage %q: %w", one.StorageName, err)
			}
			r.Result = &params.ImportStorageDetails{StorageTag: params.TagOf(entity.StorageTag(id))}
			return r, nil
		})}, nil
}

// importStorage imports a filesystem in the cloud, and then records it. If the controller dies in between, repeating
// the import completes it. Imports run one at a time, because a failed import releases the filesystem, which must not
// be one that another import has just recorded. A plan does not ask the cloud: that would begin the import.
func (c *Caller) importStorage(ctx context.Context, pool, filesystem, store string) (id string, err error) {
	done, err := c.ImportTurn(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	id, from, err := c.Model.Pools().BeginImport(ctx, pool, filesystem, store)
	if err != nil {
		return "", err
	}
	f := entity.Filesystem{ID: filesystem, Size: 1}
	if c.plans() {
		return id, c.Model.Pools().Import(ctx, id, pool, f)
	}
	err = c.askCloudOf(ctx, c.Model.UUID(), importing, func(ctx context.Context, cloud Cloud) (err error) {
		f, err = cloud.Import(ctx, filesystem, id, from)
		return err
	})
	if err != nil {
		return "", c.endImport(context.WithoutCancel(ctx), id, filesystem, err)
	}
	if err := c.Model.Pools().Import(ctx, id, pool, f); err != nil {
		return id, c.giveBack(context.WithoutCancel(ctx), id, f.ID, err)
	}
	return id, nil
}

// endImport removes the record of an import that the cloud rejected with the error why, which it returns. If the cloud
// did not respond, it may have imported the filesystem nevertheless, so the record stays. An earlier import may have
// succeeded too, unless the filesystem does not exist or belongs to another model.
func (c *Caller) endImport(ctx context.Context, id, filesystem string, why error) error {
	var err error
	switch entity.KindOf(why) {
	case entity.Unavailable:
	case entity.NotFound, entity.InUse:
		err = c.Model.Pools().EndImport(ctx, filesystem, "")
	default:
		err = c.Model.Pools().EndImport(ctx, filesystem, id)
	}
	if err != nil {
		logger.Warningf("%s: model %s: cannot remove the record of the import of filesystem %s: %v",
			c.Request, c.Model.Name(),
			filesystem, err)
	}
	return why
}

// importing completes the error "cannot ask the cloud" for an import.
const importing = "for the filesystem"

// giveBack releases a filesystem that could not be recorded, unless it has been recorded after all. It returns why.
func (c *Caller) giveBack(ctx context.Context, id, filesystem string, why error) error {
	_, err := c.Model.Storage(ctx, id)
	switch {
	case err == nil:
		return nil
	case entity.IsNotFound(err):
		err = c.askCloudOf(ctx, c.Model.UUID(), importing, func(ctx context.Context, cloud Cloud) error {
			return cloud.ReleaseFilesystem(ctx, filesystem)
		})
		if err == nil {
			err = c.Model.Pools().EndImport(ctx, filesystem, "")
		}
	}
	if err != nil {
		logger.Warningf("%s: model %s: filesystem %s is not released: %v", c.Request, c.Model.Name(), filesystem, err)
	}
	return why
}

func storageListPools(
	ctx context.Context, c *Caller, p params.StoragePoolFilters,
) (params.StoragePoolsResults, error) {
	all, err := c.Model.Pools().All(ctx)
	if err != nil {
		return params.StoragePoolsResults{}, err
	}
	if len(p.Filters) == 0 {
		p.Filters = []params.StoragePoolFilter{{}}
	}
	var results params.StoragePoolsResults
	for _, f := range p.Filters {
		pools := []params.StoragePool{}
		for _, pool := range all {
			if len(f.Names) > 0 && !slices.Contains(f.Names, pool.Name) ||
				len(f.Providers) > 0 && !slices.Contains(f.Providers, pool.Provider) {
				continue
			}
			pools = append(pools, params.StoragePoolOf(pool))
		}
		if err := c.keep(ctx, pools); err != nil {
			return params.StoragePoolsResults{}, err
		}
		results.Results = append(results.Results, params.StoragePoolsResult{Pools: pools})
	}
	return results, nil
}

func storageCreatePool(ctx context.Context, c *Caller, p params.StoragePoolArgs) (params.ErrorResults, error) {
	return outcomes(c, "CreatePool", p.Pools, func(pool params.StoragePool) error {
		if err := c.checkPool(ctx, pool.Read()); err != nil {
			return err
		}
		return c.Model.Pools().Create(ctx, pool.Read())
	}), nil
}

// checkPool rejects a pool with attributes that the model's cloud does not know. State knows which providers the cloud has.
func (c *Caller) checkPool(ctx context.Context, pool entity.StoragePool) error {
	return c.askCloud(ctx, func(_ context.Context, cloud Cloud) error { return cloud.CheckPool(pool) })
}

// checkSizes rejects stores that are larger than what the cloud would have them in, and would wait for ever. What is free of that
// is not looked at: it changes.
func (c *Caller) checkSizes(ctx context.Context, stores map[string]entity.StorageConstraints) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(stores)), func(name string) bool {
		return stores[name].Count == 0 || stores[name].Size == 0
	})
	if len(names) == 0 {
		return nil
	}
	pools, err := c.Model.Pools().All(ctx)
	if err != nil {
		return err
	}
	return c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		for _, name := range names {
			store := stores[name]
			i := slices.IndexFunc(pools, func(p entity.StoragePool) bool { return store.Pool == "" || store.Pool == p.Name })
			if i < 0 {
				continue // the change of state says so
			}
			size, of, err := cloud.PoolSize(ctx, pools[i])
			if err != nil {
				return err
			}
			if 0 < size && size < store.Size {
				return entity.WithHint(entity.Errorf(entity.Invalid, "storage %q cannot be met: %s is more than %s has, %s",
					name, entity.MiB(store.Size), of, entity.MiB(size)), "Ask for less, or for another pool: %s=POOL,SIZE", name)
			}
		}
		return nil
	})
}

func storageUpdatePool(ctx context.Context, c *Caller, p params.StoragePoolArgs) (params.ErrorResults, error) {
	return outcomes(c, "UpdatePool", p.Pools, func(pool params.StoragePool) error {
		all, err := c.Model.Pools().All(ctx)
		if err != nil {
			return err
		}
		for _, own := range all {
			if own.Name != pool.Name {
				continue
			}
			own.Attributes = pool.Read().Attributes
			if err := c.checkPool(ctx, own); err != nil {
				return err
			}
		}
		return c.Model.Pools().Update(ctx, pool.Name, pool.Read().Attributes)
	}), nil
}

func storageRemovePool(
	ctx context.Context, c *Caller, p params.StoragePoolDeleteArgs,
) (params.ErrorResults, error) {
	return outcomes(c, "RemovePool", p.Pools, func(pool params.StoragePoolDeleteArg) error {
		return c.Model.Pools().Remove(ctx, pool.Name)
	}), nil
}

// storageTags returns the ids in tags of storage instances.
func storageTags(tags []params.Tag) (ids []string, err error) {
	for _, tag := range tags {
		if err := isKind(tag, entity.KindStorage); err != nil {
			return nil, err
		}
		ids = append(ids, tag.ID)
	}
	return ids, nil
}
