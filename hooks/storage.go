package hooks

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
	"juju/state/limits"
)

// attached returns the storage that the unit can use, by id.
func (c *Context) attached() map[string]entity.UnitStorage {
	all := map[string]entity.UnitStorage{}
	for _, s := range c.params.Storage {
		if s.Location != "" {
			all[s.ID] = s
		}
	}
	return all
}

func (c toolContext) HookStorage() string { return c.params.Info.Storage }

func (c toolContext) AttachedStorage() map[string]entity.UnitStorage { return c.attached() }

// AddStorage buffers the request for more instances of the charm's stores.
func (c toolContext) AddStorage(counts map[string]uint64) error {
	meta, err := c.CharmMeta()
	if err != nil {
		return err
	}
	for _, store := range slices.Sorted(maps.Keys(counts)) {
		if _, ok := meta.Storage[store]; !ok {
			return fmt.Errorf("charm %q has no store called %q", meta.Name, store)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores == nil {
		c.stores = map[string]uint64{}
	}
	for store, n := range counts {
		if c.stores[store]+n > uint64(limits.UnitStorage.Max) {
			return limits.UnitStorage.Check(limits.UnitStorage.Max + 1)
		}
	}
	for store, n := range counts {
		c.stores[store] += n
	}
	return nil
}

// storageChanges adds the hook's storage requests to the changes.
func (c *Context) storageChanges(changes *entity.HookChanges) {
	if len(c.stores) == 0 {
		return
	}
	if c.storageToken == "" {
		c.storageToken = rand.Text()
	}
	changes.Storage, changes.StorageToken = maps.Clone(c.stores), c.storageToken
}
