package storage

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/limits"
)

// defaultSize is the default size of storage, in MiB.
const defaultSize = 1024

// Constraints completes the user's storage constraints with the charm's, and checks them: the result has each of the
// charm's stores. Stores of block devices have none.
func Constraints(m modeldb.Model, meta *charm.Meta,
	asked map[string]entity.StorageConstraints) (map[string]entity.StorageConstraints, error) {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if _, ok := meta.Storage[name]; !ok {
			return nil, entity.Errorf(entity.Invalid, "charm %q has no store called %q", meta.Name, name)
		}
	}
	all := map[string]entity.StorageConstraints{}
	for _, name := range slices.Sorted(maps.Keys(meta.Storage)) {
		store := meta.Storage[name]
		c, given := asked[name]
		if !given {
			c.Count = uint64(store.CountMin)
		}
		c, err := complete(m, meta, store, c)
		if err != nil {
			return nil, err
		}
		if err := checkCount(store, c.Count); err != nil {
			return nil, fmt.Errorf("charm %q store %q: %w", meta.Name, name, err)
		}
		if c.Count > 0 || store.Type == charm.StorageFilesystem {
			all[name] = c
		}
	}
	return all, checkMounts(meta, all)
}

// checkMounts rejects storage of two stores at the same path.
func checkMounts(meta *charm.Meta, all map[string]entity.StorageConstraints) error {
	names := slices.Sorted(maps.Keys(all))
	for i, one := range names {
		for _, other := range names[i+1:] {
			if all[one].Count == 0 || all[other].Count == 0 {
				continue
			}
			if at := mountOf(meta.Storage[one], one+"/0"); at == mountOf(meta.Storage[other], other+"/0") {
				return entity.Errorf(entity.Invalid, "charm %q stores %q and %q are both at %s", meta.Name, one, other, at)
			}
		}
	}
	return nil
}

// complete fills in the pool and size of storage for a store, and checks them.
func complete(m modeldb.Model, meta *charm.Meta, store charm.Storage,
	c entity.StorageConstraints) (entity.StorageConstraints, error) {
	fail := func(format string, args ...any) (entity.StorageConstraints, error) {
		return c, entity.Errorf(entity.Invalid, "charm %q store %q: %s", meta.Name, store.Name, fmt.Sprintf(format, args...))
	}
	pools := entity.StoragePools(m.Cloud)
	if c.Pool == "" {
		c.Pool = pools[0].Name
	}
	if c.Size == 0 {
		c.Size = cmp.Or(store.MinimumSize, defaultSize)
	}
	switch {
	case c.Count == 0: // the store does not matter
	case store.Shared:
		return fail("shared storage support not implemented")
	case store.Type == charm.StorageBlock:
		return fail("cloud %q has no block storage", m.Cloud)
	}
	if c.Size < store.MinimumSize {
		return fail("minimum storage size is %s, %s specified", entity.MiB(store.MinimumSize), entity.MiB(c.Size))
	}
	return c, nil
}

func checkCount(store charm.Storage, n uint64) error {
	switch {
	case store.CountMin == 1 && store.CountMax == 1 && n != 1:
		return entity.Errorf(entity.Invalid, "storage is singular, %d specified", n)
	case n < uint64(store.CountMin):
		return entity.Errorf(entity.Invalid, "%s required, %d specified", instances(store.CountMin), n)
	case store.CountMax >= 0 && n > uint64(store.CountMax):
		return entity.Errorf(entity.Invalid, "at most %s supported, %d specified", instances(store.CountMax), n)
	case n > uint64(limits.UnitStorage.Max):
		return limits.UnitStorage.Check(int(min(n, math.MaxInt32)))
	}
	return nil
}

// instances formats a number of instances.
func instances(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return strconv.Itoa(n) + " instances"
}
