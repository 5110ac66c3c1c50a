package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
)

func (f *fakeModel) Storage(context.Context) ([]entity.StorageStatus, error) {
	return f.storage, f.note("Storage")
}

func (f *fakeModel) ShowStorage(_ context.Context, ids ...string) ([]entity.StorageStatus, []error, error) {
	return f.storage[:min(len(ids), len(f.storage))], f.outcomes(len(ids)), f.note("ShowStorage", ids)
}

func (f *fakeModel) AddStorage(
	_ context.Context, unit string, stores map[string]entity.StorageConstraints,
) (ids []string, err error) {
	for _, store := range slices.Sorted(maps.Keys(stores)) {
		if err = f.note("AddStorage", unit, " ", store, " ", fmt.Sprint(stores[store])); err != nil {
			return ids, err
		}
		ids = append(ids, store+"/0")
	}
	return ids, nil
}

func (f *fakeModel) AttachStorage(_ context.Context, unit string, ids ...string) ([]error, error) {
	return f.outcomes(len(ids)), f.note("AttachStorage", unit, " ", ids)
}

func (f *fakeModel) DetachStorage(_ context.Context, how entity.Destruction, ids ...string) ([]error, error) {
	return f.outcomes(len(ids)), f.note("DetachStorage"+with(how), ids)
}

func (f *fakeModel) RemoveStorage(
	_ context.Context, how entity.Destruction, release bool, ids ...string,
) ([]error, error) {
	return f.outcomes(len(ids)), f.note("RemoveStorage"+with(how), release, " ", ids)
}

func (f *fakeModel) ImportFilesystem(_ context.Context, pool, filesystem, store string) (string, error) {
	return store + "/0", f.note("ImportFilesystem", pool, " ", filesystem, " ", store)
}

func (f *fakeModel) StoragePools(_ context.Context, names, providers []string) ([]entity.StoragePool, error) {
	return entity.StoragePools("local"), f.note("StoragePools", names, providers)
}

func (f *fakeModel) CreateStoragePool(_ context.Context, pool entity.StoragePool) error {
	return f.note("CreateStoragePool", pool)
}

func (f *fakeModel) UpdateStoragePool(_ context.Context, name string, attributes map[string]string) error {
	return f.note("UpdateStoragePool", name, " ", attributes)
}

func (f *fakeModel) RemoveStoragePool(_ context.Context, name string) error {
	return f.note("RemoveStoragePool", name)
}
