package state

import (
	"fmt"
	"maps"
	"slices"

	"juju/charm"
	"juju/state/entity"
)

// storageOps refuses a charm whose stores are not those of the old one, as far as units have
// them already, and returns the storage that new units get from now on: for stores that only
// the new charm has, what the charm needs, unless the user has said something else.
func (c *charmChange) storageOps(o *ops, old *charm.Meta) (map[string]entity.StorageConstraints, error) {
	for _, name := range slices.Sorted(maps.Keys(old.Storage)) {
		store, ok := c.charm.Meta.Storage[name]
		if !ok {
			return nil, entity.Errorf(entity.Invalid, "storage %q removed", name)
		}
		if err := checkSameStore(old.Storage[name], store); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.charm.Meta.Storage)) {
		if _, ok := old.Storage[name]; !ok && c.charm.Meta.Storage[name].CountMin > 0 {
			return nil, entity.Errorf(entity.Invalid, "required storage %q added", name)
		}
	}
	model, err := c.st.db.Model()
	if err != nil {
		return nil, err
	}
	asked := map[string]entity.StorageConstraints{}
	maps.Copy(asked, c.doc.Stores)
	maps.Copy(asked, c.Storage)
	all, err := storageFor(model, c.charm.Meta, asked)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Storage)) {
		if _, err := c.st.poolOps(o, model, all[name].Pool); err != nil {
			return nil, fmt.Errorf("charm %q store %q: %w", c.charm.Meta.Name, name, err)
		}
	}
	return all, nil
}

// checkSameStore refuses a store that differs from an old one in what units rely on.
func checkSameStore(old, now charm.Storage) error {
	fail := func(format string, args ...any) error {
		return entity.Errorf(entity.Invalid, "existing storage %q %s", old.Name, fmt.Sprintf(format, args...))
	}
	single := func(s charm.Storage) bool { return s.CountMin == 1 && s.CountMax == 1 }
	switch {
	case now.Type != old.Type:
		return fail("type changed from %q to %q", old.Type, now.Type)
	case now.Shared != old.Shared:
		return fail("shared changed from %v to %v", old.Shared, now.Shared)
	case now.ReadOnly != old.ReadOnly:
		return fail("read-only changed from %v to %v", old.ReadOnly, now.ReadOnly)
	case now.Location != old.Location:
		return fail("location changed from %q to %q", old.Location, now.Location)
	case now.CountMin > old.CountMin:
		return fail("range contracted: min increased from %d to %d", old.CountMin, now.CountMin)
	case now.CountMax >= 0 && (old.CountMax < 0 || now.CountMax < old.CountMax):
		before := any(old.CountMax)
		if old.CountMax < 0 {
			before = "<unbounded>"
		}
		return fail("range contracted: max decreased from %v to %d", before, now.CountMax)
	case old.Location != "" && single(old) && !single(now):
		// The location of one is the directory of several.
		return fail("with location changed from single to multiple")
	}
	return nil
}
