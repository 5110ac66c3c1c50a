package state_test

import (
	"testing"

	"juju/state/entity"
)

// In each test here another client changes storage, or what has it, between the reads and the commit of an operation.

func TestAttachStorageRaces(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, id string) error
		kind   entity.Kind
		text   string
	}{
		"another unit gets it": {func(w *world, id string) error { return w.unit("disk/1").AttachStorage(w.ctx, id) },
			entity.InUse, "is attached to unit"},
		"it is destroyed": {func(w *world, id string) error { return w.storage(id).Destroy(w.ctx, plain, false) },
			entity.NotAlive, "is not alive"},
		"the unit is destroyed": {func(w *world, _ string) error { return w.unit("disk/0").Destroy(w.ctx, plain) },
			entity.NotAlive, `unit "disk/0" is not alive`},
		"the model is destroyed": {func(w *world, _ string) error {
			return w.st.Destroy(w.ctx, entity.Destruction{Release: true})
		}, entity.NotAlive, "is no longer alive"},
		"the unit gets all that it can have": {func(w *world, _ string) error {
			_, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Count: 3})
			return err
		}, entity.Invalid, "exceeding the maximum of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := storageWorld(t)
			ids, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Count: 1})
			w.ok(err)
			w.attached("disk/0", ids[0])
			w.detached("disk/0", ids[0])
			w.st.Before(func() { w.ok(c.change(w, ids[0])) })
			w.refused(w.unit("disk/0").AttachStorage(w.ctx, ids[0]), c.kind, c.text)
			w.checkCounts()
		})
	}
}

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

func TestFilesystemRaces(t *testing.T) {
	w := storageWorld(t)
	add := func() string {
		ids, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Count: 1})
		w.ok(err)
		return ids[0]
	}
	id := add()
	record := func(f string) error { return w.storage(id).SetFilesystem(w.ctx, entity.Filesystem{ID: f, Size: 1}) }
	// Two provisioners create it.
	w.st.Before(func() { w.ok(record("fs-1")) })
	w.refused(record("fs-2"), entity.AlreadyExists, `has filesystem "fs-1"`)
	// It is detached before it is attached, or destroyed before its filesystem is created.
	w.st.Before(func() { w.ok(w.storage(id).Detach(w.ctx, plain)) })
	w.refused(w.storage(id).SetAttached(w.ctx, "disk/0", w.machine(w.unit("disk/0").Machine()).InstanceID(), "/here"),
		entity.NotAlive, "is being detached")
	id = add()
	w.st.Before(func() {
		w.detached("disk/0", id)
		w.ok(w.storage(id).Destroy(w.ctx, plain, false))
		w.ok(w.storage(id).EnsureDead(w.ctx))
	})
	w.refused(record("fs-3"), entity.NotAlive, "is dead")
	w.checkCounts()
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

// The model ends while a pool is created, or an import of a filesystem begins or ends.
func TestPoolsOfAModelThatEndsMeanwhile(t *testing.T) {
	for name, call := range map[string]func(s *scene, i imported) error{
		"Create": func(s *scene, i imported) error { return i.Create(s.ctx, fast) },
		"BeginImport": func(s *scene, i imported) error {
			_, _, err := i.BeginImport(s.ctx, "dummy", "fs-newer", "data")
			return err
		},
		"Import": importsOld("fs-new", "dummy"),
	} {
		t.Run(name, func(t *testing.T) {
			s := sharedStage(t).scene(t, nil)
			i := importing("data", "dummy")(s)
			s.st.Before(func() { s.ok(s.st.Destroy(s.ctx, entity.Destruction{Release: true})) })
			s.refused(call(s, i), entity.NotAlive, "is no longer alive")
		})
	}
}
