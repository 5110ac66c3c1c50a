package client

import (
	"context"
	"maps"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
)

func (c *Conn) storage(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "Storage", 6, method, args, result)
}

func storageTags(ids []string) (tags []params.Tag) {
	for _, id := range ids {
		tags = append(tags, params.TagOf(entity.StorageTag(id)))
	}
	return tags
}

// Storage returns all storage instances of the model, in natural order.
func (c *Conn) Storage(ctx context.Context) ([]entity.StorageStatus, error) {
	var result params.StorageDetailsListResults
	err := c.storage(ctx, "ListStorageDetails", params.StorageFilters{Filters: make([]struct{}, 1)}, &result)
	var all []entity.StorageStatus
	for _, list := range result.Results {
		if err == nil {
			err = params.FromError(list.Error)
		}
		for _, d := range list.Result {
			all = append(all, d.Read())
		}
	}
	return all, err
}

// ShowStorage returns storage instances by their ids, or an error for each, in order.
func (c *Conn) ShowStorage(ctx context.Context, ids ...string) ([]entity.StorageStatus, []error, error) {
	var args params.Entities
	for _, tag := range storageTags(ids) {
		args.Entities = append(args.Entities, params.Entity{Tag: tag})
	}
	var result params.StorageDetailsResults
	err := c.storage(ctx, "StorageDetails", args, &result)
	if err == nil {
		err = areAll(len(ids), len(result.Results))
	}
	all, errs := make([]entity.StorageStatus, len(result.Results)), make([]error, len(result.Results))
	for i, r := range result.Results {
		if errs[i] = params.FromError(r.Error); r.Result != nil {
			all[i] = r.Result.Read()
		}
	}
	return all, errs, err
}

// AddStorage adds new instances to a unit for stores of its charm, one store after another, and returns their ids, also of
// those that were added before an error.
func (c *Conn) AddStorage(
	ctx context.Context, unit string, stores map[string]entity.StorageConstraints,
) (ids []string, err error) {
	var args params.StoragesAddParams
	for _, store := range slices.Sorted(maps.Keys(stores)) {
		args.Storages = append(args.Storages, params.StorageAddParams{UnitTag: params.TagOf(entity.UnitTag(unit)), StorageName: store,
			Constraints: stores[store]})
	}
	var result params.AddStorageResults
	err = c.storage(ctx, "AddToUnit", args, &result)
	for _, r := range result.Results {
		if err == nil {
			err = params.FromError(r.Error)
		}
		if r.Result != nil {
			for _, tag := range r.Result.StorageTags {
				ids = append(ids, tag.ID)
			}
		}
	}
	if err == nil { // after an error, the other stores have no results
		err = areAll(len(stores), len(result.Results))
	}
	return ids, err
}

// AttachStorage attaches detached instances to a unit. It returns an error or nil for each, in order.
func (c *Conn) AttachStorage(ctx context.Context, unit string, ids ...string) ([]error, error) {
	var args params.StorageAttachmentIDs
	for _, tag := range storageTags(ids) {
		args.IDs = append(args.IDs, params.StorageAttachmentID{StorageTag: tag, UnitTag: params.TagOf(entity.UnitTag(unit))})
	}
	var result params.ErrorResults
	err := c.storage(ctx, "Attach", args, &result)
	return each(len(ids), result.Results, err)
}

// DetachStorage detaches instances from their units. It returns an error or nil for each, in order.
func (c *Conn) DetachStorage(ctx context.Context, how entity.Destruction, ids ...string) ([]error, error) {
	d := params.FromDestruction(how)
	args := params.StorageDetachmentParams{Force: &d.Force, MaxWait: d.MaxWait}
	for _, tag := range storageTags(ids) {
		args.StorageIDs.IDs = append(args.StorageIDs.IDs, params.StorageAttachmentID{StorageTag: tag})
	}
	var result params.ErrorResults
	err := c.storage(ctx, "DetachStorage", args, &result)
	return each(len(ids), result.Results, err)
}

// RemoveStorage removes instances, and destroys their filesystems unless they are to be released. It returns an error
// or nil for each, in order.
func (c *Conn) RemoveStorage(
	ctx context.Context, how entity.Destruction, release bool, ids ...string,
) ([]error, error) {
	d := params.FromDestruction(how)
	var args params.RemoveStorage
	for _, tag := range storageTags(ids) {
		args.Storage = append(args.Storage, params.RemoveStorageInstance{Tag: tag, DestroyAttachments: d.Force,
			DestroyStorage: !release, Force: &d.Force, MaxWait: d.MaxWait})
	}
	var result params.ErrorResults
	err := c.storage(ctx, "Remove", args, &result)
	return each(len(ids), result.Results, err)
}

// ImportFilesystem imports a filesystem that exists in the cloud of a pool but in no model, as an instance for a store,
// and returns the instance's id.
func (c *Conn) ImportFilesystem(ctx context.Context, pool, filesystem, store string) (id string, err error) {
	var result params.ImportStorageResults
	err = c.storage(ctx, "Import", params.BulkImportStorageParams{Storage: []params.ImportStorageParams{
		{Kind: params.FilesystemKind, Pool: pool, ProviderID: filesystem, StorageName: store}}}, &result)
	if err == nil {
		err = isOne(len(result.Results))
	}
	for _, r := range result.Results {
		if err == nil {
			err = params.FromError(r.Error)
		}
		if r.Result != nil {
			id = r.Result.StorageTag.ID
		}
	}
	return id, err
}

// StoragePools returns the pools with these names and of these providers; an empty list selects all.
func (c *Conn) StoragePools(ctx context.Context, names, providers []string) ([]entity.StoragePool, error) {
	var result params.StoragePoolsResults
	err := c.storage(ctx, "ListPools", params.StoragePoolFilters{Filters: []params.StoragePoolFilter{
		{Names: names, Providers: providers}}}, &result)
	var all []entity.StoragePool
	for _, list := range result.Results {
		if err == nil {
			err = params.FromError(list.Error)
		}
		for _, p := range list.Pools {
			all = append(all, p.Read())
		}
	}
	return all, err
}

// CreateStoragePool adds a pool.
func (c *Conn) CreateStoragePool(ctx context.Context, pool entity.StoragePool) error {
	return c.changePool(ctx, "CreatePool", params.StoragePoolArgs{Pools: []params.StoragePool{params.StoragePoolOf(pool)}})
}

// UpdateStoragePool replaces the attributes of a pool.
func (c *Conn) UpdateStoragePool(ctx context.Context, name string, attributes map[string]string) error {
	pool := params.StoragePoolOf(entity.StoragePool{Name: name, Attributes: attributes})
	return c.changePool(ctx, "UpdatePool", params.StoragePoolArgs{Pools: []params.StoragePool{pool}})
}

// RemoveStoragePool removes a pool that nothing uses.
func (c *Conn) RemoveStoragePool(ctx context.Context, name string) error {
	args := params.StoragePoolDeleteArgs{Pools: []params.StoragePoolDeleteArg{{Name: name}}}
	return c.changePool(ctx, "RemovePool", args)
}

func (c *Conn) changePool(ctx context.Context, method string, args any) error {
	var result params.ErrorResults
	if err := c.storage(ctx, method, args, &result); err != nil {
		return err
	}
	return only(result.Results)
}
