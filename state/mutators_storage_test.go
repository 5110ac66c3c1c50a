package state_test

import (
	mgo "gopkg.in/mgo.v2"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/storage"
)

// disk is a charm that needs storage, and can have more.
const disk = `{name: disk, summary: s, description: d, storage: {
  data: {type: filesystem, location: /srv/data}, cache: {type: filesystem, multiple: {range: 0-3}}}}`

// withStorage adds disk/0 with data/0 attached, and disk/1 with data/1, which is not made yet.
func withStorage(s *scene) {
	s.deploy("disk", disk, 2)
	s.attached("disk/0", "data/0")
}

// attached makes a unit's storage and attaches it.
func (w *world) attached(unit, storage string) {
	w.Helper()
	x := w.storage(storage)
	principal := w.unit(unit)
	if on := principal.Principal(); on != "" {
		principal = w.unit(on)
	}
	in := w.machine(principal.Machine()).InstanceID()
	w.ok(x.SetFilesystem(w.ctx, entity.Filesystem{ID: "fs-" + storage, Size: 1, Instance: in}))
	w.ok(x.SetAttached(w.ctx, unit, in, "/here/"+storage))
}

// detached takes storage from a unit, as the unit's agent and the storage provisioner do.
func (w *world) detached(unit, storage string) {
	w.Helper()
	w.ok(w.storage(storage).Detach(w.ctx, forced))
	w.ok(w.unit(unit).DetachStorage(w.ctx, storage))
	w.ok(w.storage(storage).RemoveAttachment(w.ctx, unit))
}

func (w *world) storage(id string) *state.Storage {
	w.Helper()
	s, err := w.st.Storage(w.ctx, id)
	w.ok(err)
	return s
}

// fast is a pool that users make on the cloud of the tests.
var fast = entity.StoragePool{Name: "fast", Provider: "dummy",
	Attributes: map[string]string{"storage-dir": "/mnt/fast"}}

func withPool(s *scene) { s.ok(s.st.Pools().Create(s.ctx, fast)) }

func thePools(s *scene) storage.Pools { return s.st.Pools() }

// An imported is a storage instance that is about to be added.
type imported struct {
	storage.Pools
	id string
}

// importing has begun the import of fs-new.
func importing(store, pool string) func(*scene) imported {
	return func(s *scene) imported {
		id, _, err := s.st.Pools().BeginImport(s.ctx, pool, "fs-new", store)
		s.ok(err)
		return imported{s.st.Pools(), id}
	}
}

// begunImport is an import of fs-new as data that has begun, perhaps more than once. Only the id of the first is
// recorded, and only by that does EndImport remove the record.
func begunImport(s *scene) (i imported) {
	i = importing("data", "dummy")(s)
	s.ok(s.st.Write(s.Context(), "imports", func(c *mgo.Collection) error {
		var doc struct {
			Storage string `bson:"storage"`
		}
		err := c.FindId("fs-new").One(&doc)
		i.id = doc.Storage
		return err
	}))
	return i
}

func importsOld(filesystem, pool string) func(*scene, imported) error {
	return func(s *scene, i imported) error {
		return i.Import(s.ctx, i.id, pool, entity.Filesystem{ID: filesystem, Size: 5})
	}
}

func theStorage(id string) func(*scene) *state.Storage {
	return func(s *scene) *state.Storage { return s.storage(id) }
}

// stored is on for storage, in a scene that has some.
func stored(name, how, id string, call func(*scene, *state.Storage) error, before ...func(*scene)) mutator {
	return on(name, how, theStorage(id), call, append([]func(*scene){withStorage}, before...)...)
}

// holds is on for a unit with storage.
func holds(name, how, unit string, call func(*scene, *state.Unit) error, before ...func(*scene)) mutator {
	return on(name, how, func(s *scene) *state.Unit { return s.unit(unit) }, call,
		append([]func(*scene){withStorage}, before...)...)
}

func detaches(unit, storage string) func(*scene) {
	return func(s *scene) { s.detached(unit, storage) }
}

func destroysStorage(id string, how entity.Destruction) func(*scene) {
	return func(s *scene) { s.ok(s.storage(id).Destroy(s.ctx, how, false)) }
}

// leftFilesystem leaves the filesystem of data/0 behind as a leftover.
func leftFilesystem(s *scene) {
	destroysStorage("data/0", atLast)(s)
	s.ok(s.storage("data/0").SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "no"}))
	cleansUp(s)
}

var storageMutators = []mutator{
	holds("Unit.AddStorage", "", "disk/0", func(s *scene, u *state.Unit) error {
		_, err := u.AddStorage(s.ctx, "cache", entity.StorageConstraints{Count: 2})
		return err
	}),
	holds("Unit.AddStorage", "on the machine's disk", "disk/0", func(s *scene, u *state.Unit) error {
		_, err := u.AddStorage(s.ctx, "cache", entity.StorageConstraints{Pool: entity.PoolRootFS, Count: 1})
		return err
	}),
	on("Pools.Create", "", thePools, func(s *scene, p storage.Pools) error { return p.Create(s.ctx, fast) }),
	on("Pools.Update", "", thePools, func(s *scene, p storage.Pools) error {
		return p.Update(s.ctx, fast.Name, map[string]string{"storage-dir": "/mnt/other"})
	}, withPool),
	on("Pools.Remove", "", thePools, func(s *scene, p storage.Pools) error { return p.Remove(s.ctx, fast.Name) }, withPool),
	on("Pools.BeginImport", "", thePools, func(s *scene, p storage.Pools) error {
		_, _, err := p.BeginImport(s.ctx, fast.Name, "fs-new", "data")
		return err
	}, withPool),
	on("Pools.EndImport", "", begunImport, func(s *scene, i imported) error {
		return i.EndImport(s.ctx, "fs-new", i.id)
	}),
	on("Pools.Import", "", importing("data", fast.Name), importsOld("fs-old", fast.Name), withPool),
	on("Pools.Import", "after another", importing("data", "dummy"), importsOld("fs-old", "dummy"), func(s *scene) {
		s.ok(importsOld("fs-older", "dummy")(s, importing("data", "dummy")(s)))
	}),
	holds("Unit.AddStorage", "from a pool that users have made", "disk/0", func(s *scene, u *state.Unit) error {
		_, err := u.AddStorage(s.ctx, "cache", entity.StorageConstraints{Pool: fast.Name, Count: 2})
		return err
	}, withPool),
	holds("Unit.CommitHook", "with storage", "disk/0", func(s *scene, u *state.Unit) error {
		return u.CommitHook(s.ctx, entity.HookChanges{Storage: map[string]uint64{"cache": 2}, StorageToken: "one"})
	}),
	holds("Unit.AttachStorage", "", "disk/0", func(s *scene, u *state.Unit) error {
		return u.AttachStorage(s.ctx, "data/0")
	}, detaches("disk/0", "data/0")),
	holds("Unit.DetachStorage", "", "disk/0", func(s *scene, u *state.Unit) error {
		return u.DetachStorage(s.ctx, "data/0")
	}, func(s *scene) { s.ok(s.storage("data/0").Detach(s.ctx, forced)) }),
	holds("Unit.Destroy", "with storage", "disk/0", func(s *scene, u *state.Unit) error {
		return u.Destroy(s.ctx, entity.Destruction{Storage: true})
	}),
	on("Service.AddUnits", "with storage", theService("disk"), func(s *scene, x *state.Service) error {
		_, err := x.AddUnits(s.ctx, 1, nil, "data/0")
		return err
	}, withStorage, detaches("disk/0", "data/0")),
	stored("Storage.Destroy", "", "data/0", func(s *scene, x *state.Storage) error {
		return x.Destroy(s.ctx, plain, true)
	}, detaches("disk/0", "data/0")),
	stored("Storage.Destroy", "by force", "data/0", func(s *scene, x *state.Storage) error {
		return x.Destroy(s.ctx, forced, false)
	}),
	stored("Storage.Destroy", "to release it when Dying", "data/0", func(s *scene, x *state.Storage) error {
		return x.Destroy(s.ctx, plain, true)
	}, detaches("disk/0", "data/0"), destroysStorage("data/0", plain)),
	free(onModel("Provisioning.DropFilesystem", "", func(s *scene) error {
		return s.st.Provisioning().DropFilesystem(s.ctx, "fs-data/0")
	}, withStorage, leftFilesystem)),
	onModel("Provisioning.LoseAttachments", "", func(s *scene) error {
		all, err := s.st.Provisioning().Attached(s.ctx)
		if err != nil {
			return err
		}
		return s.st.Provisioning().LoseAttachments(s.ctx, all)
	}, withStorage, func(s *scene) { s.provisioned(s.unit("disk/0").Machine()) }),
	stored("Storage.Detach", "", "data/0", func(s *scene, x *state.Storage) error { return x.Detach(s.ctx, forced) }),
	stored("Storage.Detach", "what the charm can do without", "cache/2", func(s *scene, x *state.Storage) error {
		return x.Detach(s.ctx, plain)
	}, func(s *scene) {
		_, err := s.unit("disk/0").AddStorage(s.ctx, "cache", entity.StorageConstraints{Count: 1})
		s.ok(err)
	}),
	stored("Storage.EnsureDead", "", "data/0", func(s *scene, x *state.Storage) error { return x.EnsureDead(s.ctx) },
		detaches("disk/0", "data/0"), destroysStorage("data/0", plain)),
	stored("Storage.Remove", "", "data/0", func(s *scene, x *state.Storage) error { return x.Remove(s.ctx) },
		detaches("disk/0", "data/0"), destroysStorage("data/0", plain),
		func(s *scene) { s.ok(s.storage("data/0").EnsureDead(s.ctx)) }),
	stored("Storage.RemoveAttachment", "", "data/0", func(s *scene, x *state.Storage) error {
		return x.RemoveAttachment(s.ctx, "disk/0")
	}, func(s *scene) {
		s.ok(s.unit("disk/0").Destroy(s.ctx, entity.Destruction{Storage: true}))
		s.ok(s.unit("disk/0").DetachStorage(s.ctx, "data/0"))
	}),
	stored("Storage.SetFilesystem", "", "data/1", func(s *scene, x *state.Storage) error {
		return x.SetFilesystem(s.ctx, entity.Filesystem{ID: "fs", Size: 5})
	}),
	stored("Storage.SetAttached", "", "data/1", func(s *scene, x *state.Storage) error {
		return x.SetAttached(s.ctx, "disk/1", "", "/here")
	}),
	stored("Storage.SetStatus", "", "data/1", func(s *scene, x *state.Storage) error {
		return x.SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "no room"})
	}),
}
