package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
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

// CheckChange rejects attaching n more instances of a store to a unit, or with a negative n detaching some, if the
// charm does not allow the result. It asserts that the unit's storage does not change meanwhile.
func CheckChange(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, unit modeldb.Unit, meta *charm.Meta, name string, n int) error {
	store, ok := meta.Storage[name]
	if !ok {
		return entity.Errorf(entity.Invalid, "charm %q has no store called %q", meta.Name, name)
	}
	has, err := db.Attachments(ctx, bson.D{{"unit", unit.Name}})
	if err != nil {
		return err
	}
	total := n
	for _, a := range has {
		if entity.StoreOf(a.Storage) == name && a.Life == entity.Alive {
			total++
		}
	}
	doing, plural := "attach", "s"
	if n < 0 {
		doing, n = "detach", -n
		for _, a := range has {
			if a.Life == entity.Alive { // another may be detached concurrently
				o.Assert(modeldb.AttachmentsC, a.ID, modeltxn.IsAlive)
			}
		}
	}
	if n == 1 {
		plural = ""
	}
	fail := func(format string, args ...any) error {
		return entity.Errorf(entity.Invalid, "charm %q store %q: %s", meta.Name, name, fmt.Sprintf(format, args...))
	}
	o.Expect(modeldb.UnitKey(unit.Name), "attachments", len(has))
	switch {
	case store.CountMin == 1 && store.CountMax == 1 && total != 1:
		return fail("cannot %s, storage is singular", doing)
	case total < store.CountMin:
		return fail("%sing %d storage instance%s brings the total to %d, which is less than the minimum of %d", doing, n,
			plural, total, store.CountMin)
	case store.CountMax >= 0 && total > store.CountMax:
		return fail("%sing %d storage instance%s brings the total to %d, exceeding the maximum of %d", doing, n, plural,
			total, store.CountMax)
	}
	return limits.UnitStorage.Check(len(has) + n)
}
