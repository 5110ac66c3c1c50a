package clitest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
)

func (f *FakeModel) Storage(context.Context) ([]entity.StorageStatus, error) {
	return f.Returns.Storage, f.Note("Storage")
}

func (f *FakeModel) ShowStorage(_ context.Context, ids ...string) ([]entity.StorageStatus, []error, error) {
	return f.Returns.Storage[:min(len(ids), len(f.Returns.Storage))], f.outcomes(len(ids)), f.Note("ShowStorage", ids)
}

func (f *FakeModel) AddStorage(
	_ context.Context, unit string, stores map[string]entity.StorageConstraints,
) (ids []string, err error) {
	for _, store := range slices.Sorted(maps.Keys(stores)) {
		if err = f.Note("AddStorage", unit, " ", store, " ", fmt.Sprint(stores[store])); err != nil {
			return ids, err
		}
		ids = append(ids, store+"/0")
	}
	return ids, nil
}

func (f *FakeModel) AttachStorage(_ context.Context, unit string, ids ...string) ([]error, error) {
	return f.outcomes(len(ids)), f.Note("AttachStorage", unit, " ", ids)
}

func (f *FakeModel) DetachStorage(_ context.Context, how entity.Destruction, ids ...string) ([]error, error) {
	return f.outcomes(len(ids)), f.Note("DetachStorage"+with(how), ids)
}

func (f *FakeModel) RemoveStorage(
	_ context.Context, how entity.Destruction, release bool, ids ...string,
) ([]error, error) {
	return f.outcomes(len(ids)), f.Note("RemoveStorage"+with(how), release, " ", ids)
}

func (f *FakeModel) ImportFilesystem(_ context.Context, pool, filesystem, store string) (string, error) {
	return store + "/0", f.Note("ImportFilesystem", pool, " ", filesystem, " ", store)
}

func (f *FakeModel) StoragePools(_ context.Context, names, providers []string) ([]entity.StoragePool, error) {
	return entity.StoragePools("local"), f.Note("StoragePools", names, providers)
}

func (f *FakeModel) CreateStoragePool(_ context.Context, pool entity.StoragePool) error {
	return f.Note("CreateStoragePool", pool)
}

func (f *FakeModel) UpdateStoragePool(_ context.Context, name string, attributes map[string]string) error {
	return f.Note("UpdateStoragePool", name, " ", attributes)
}

func (f *FakeModel) RemoveStoragePool(_ context.Context, name string) error {
	return f.Note("RemoveStoragePool", name)
}
