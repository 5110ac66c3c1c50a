package state_test

import (
	"testing"

	"juju/state/entity"
)

// In each test here another client changes storage, or what has it, between the reads and the commit of an operation.

func TestDetachStorageRaces(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	const two = `{name: two, summary: s, description: d, storage: {data: {type: filesystem, multiple: {range: 1-3}}}}`
	s.deploy("two", two, 1)
	ids, err := s.unit("two/0").AddStorage(s.ctx, "data", entity.StorageConstraints{Count: 1})
	s.ok(err)
	all, err := s.unit("two/0").StorageStatus(s.ctx)
	s.ok(err)
	if len(all) != 2 || all[1].ID != ids[0] {
		t.Fatalf("the unit has %+v", all)
	}
	s.started("two/0")
	// Each can be detached, but not both.
	s.st.Before(func() { s.ok(s.storage(ids[0]).Detach(s.ctx, plain)) })
	s.refused(s.storage(all[0].ID).Detach(s.ctx, plain), entity.Invalid, "less than the minimum of 1")
	s.checkCounts()
}

// What ends with a unit is decided when the storage is detached: the user may say so until then.
func TestDestroyStorageWithItsUnitRaces(t *testing.T) {
	for name, change := range map[string]func(*world) error{
		"the unit":    func(w *world) error { return w.unit("disk/0").Destroy(w.ctx, entity.Destruction{Storage: true}) },
		"the service": func(w *world) error { return mustService(w, "disk").Destroy(w.ctx, entity.Destruction{Storage: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := storageWorld(t)
			w.ok(w.unit("disk/0").Destroy(w.ctx, plain))
			w.ok(w.unit("disk/0").DetachStorage(w.ctx, "data/0"))
			w.st.Before(func() { w.ok(change(w)) })
			w.ok(w.storage("data/0").RemoveAttachment(w.ctx, "disk/0"))
			w.cleans()
			if life := w.storage("data/0").Life(); life != entity.Dying {
				t.Errorf("the storage is %s", life)
			}
			w.checkCounts()
		})
	}
}
