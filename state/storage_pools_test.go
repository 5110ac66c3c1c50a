package state_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
)

func TestPools(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	pools := s.st.Pools()
	s.ok(pools.Create(s.ctx, fast))
	s.refused(pools.Create(s.ctx, fast), entity.AlreadyExists, `storage pool "fast" already exists`)
	s.refused(pools.Create(s.ctx, entity.StoragePool{Name: "rootfs", Provider: "rootfs"}), entity.AlreadyExists,
		`storage pool "rootfs" already exists`)
	s.refused(pools.Create(s.ctx, entity.StoragePool{Name: "x", Provider: "ebs"}), entity.NotFound,
		`storage provider "ebs" not found`)
	s.refused(pools.Create(s.ctx, entity.StoragePool{Name: "1", Provider: "rootfs"}), entity.Invalid,
		`pool name "1" not valid`)
	s.refused(pools.Update(s.ctx, "rootfs", nil), entity.Invalid, `storage pool "rootfs" is the cloud's own`)
	s.refused(pools.Update(s.ctx, "slow", nil), entity.NotFound, `storage pool "slow" not found`)
	s.refused(pools.Remove(s.ctx, "slow"), entity.NotFound, `storage pool "slow" not found`)
	s.refused(pools.Remove(s.ctx, "dummy"), entity.Invalid, `storage pool "dummy" is the cloud's own`)

	ids, err := s.unit("disk/0").AddStorage(s.ctx, "cache", entity.StorageConstraints{Pool: "fast", Count: 1})
	s.ok(err)
	s.refused(pools.Remove(s.ctx, "fast"), entity.InUse, `storage pool "fast" in use`)
	s.ok(pools.Update(s.ctx, "fast", map[string]string{"storage-dir": "/mnt/new"}))
	work, err := s.st.Provisioning().StorageWork(s.ctx)
	s.ok(err)
	for _, w := range work {
		if w.ID == ids[0] && w.Pool.Attributes["storage-dir"] != "/mnt/fast" {
			t.Errorf("%s comes from %+v", w.ID, w.Pool)
		}
	}
	all, err := pools.All(s.ctx)
	s.ok(err)
	if len(all) != 3 || all[0].Name != "dummy" || all[2].Attributes["storage-dir"] != "/mnt/new" {
		t.Errorf("pools are %+v", all)
	}
}

func TestAPoolThatAServiceUsesStays(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.ok(s.st.Pools().Create(s.ctx, fast))
	url := mustService(s.world, "disk").CharmURL()
	_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "other", CharmURL: url,
		Storage: map[string]entity.StorageConstraints{"data": {Pool: "fast", Count: 1}}})
	s.ok(err)
	s.refused(s.st.Pools().Remove(s.ctx, "fast"), entity.InUse, `storage pool "fast" in use`)
	s.ok(mustService(s.world, "other").Destroy(s.ctx, entity.Destruction{}))
	s.ok(s.st.Pools().Remove(s.ctx, "fast"))
}

// A pool that gets its first user while it is removed stays.
func TestStorageFromAPoolThatIsBeingRemoved(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.ok(s.st.Pools().Create(s.ctx, fast))
	s.st.Before(func() {
		_, err := s.unit("disk/0").AddStorage(s.ctx, "cache", entity.StorageConstraints{Pool: "fast", Count: 1})
		s.ok(err)
	})
	s.refused(s.st.Pools().Remove(s.ctx, "fast"), entity.InUse, `storage pool "fast" in use`)
}

// A filesystem that a model has released becomes storage that no unit has, and that units can have.
func TestImportStorage(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	withPool(s)
	pools := s.st.Pools()
	id, pool, err := pools.BeginImport(s.ctx, "fast", "fs-old", "cache")
	s.ok(err)
	if pool.Attributes["storage-dir"] != "/mnt/fast" || entity.StoreOf(id) != "cache" {
		t.Errorf("storage %s from pool %+v", id, pool)
	}
	s.ok(pools.Import(s.ctx, id, "fast", entity.Filesystem{ID: "fs-old", Size: 7}))
	all, err := s.st.StorageStatus(s.ctx, id)
	s.ok(err)
	if got := all[0]; got.Status.Status != entity.StatusDetached || !got.Persistent || got.Size != 7 || got.Pool != "fast" {
		t.Errorf("imported %+v", got)
	}
	s.ok(s.unit("disk/0").AttachStorage(s.ctx, id))
	work, err := s.st.Provisioning().StorageWork(s.ctx)
	s.ok(err)
	if !slices.ContainsFunc(work, func(w entity.StorageWork) bool {
		return w.ID == id && w.Filesystem == "fs-old" && w.Attachment != nil && w.Attachment.Unit == "disk/0"
	}) {
		t.Errorf("there is to do %+v", work)
	}
	s.refused(pools.Remove(s.ctx, "fast"), entity.InUse, `storage pool "fast" in use`)

	for _, c := range []struct {
		pool, filesystem, store string
		kind                    entity.Kind
		text                    string
	}{
		{"fast", "fs-old", "cache", entity.InUse, `filesystem "fs-old" is that of storage "` + id + `"`},
		{"slow", "fs", "cache", entity.NotFound, `pool "slow" not found`},
		{"fast", "fs", "cache/0", entity.Invalid, `storage name "cache/0" not valid`},
		{"fast", "fs", "", entity.Invalid, `storage name "" not valid`},
		{"fast", "", "cache", entity.Invalid, "filesystem has no id"},
		{"fast", strings.Repeat("x", 256), "cache", entity.Invalid, "instance id"},
	} {
		_, _, err := pools.BeginImport(s.ctx, c.pool, c.filesystem, c.store)
		s.refused(err, c.kind, c.text)
	}
	leftFilesystem(s)
	_, _, err = pools.BeginImport(s.ctx, "fast", "fs-data/0", "cache")
	s.refused(err, entity.InUse, `filesystem "fs-data/0" is still to be removed or released`)
	_, _, err = pools.BeginImport(s.ctx, "fast", "fs-other", "cache") // which nothing else has
	s.ok(err)
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Release: true}))
	_, _, err = pools.BeginImport(s.ctx, "fast", "fs", "cache")
	s.refused(err, entity.NotAlive, "is no longer alive")
}

// Check names an import that was cut off, and how it is repeated, until it is repeated or given up.
func TestCheckNamesImportsThatWereCutOff(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	pools := w.st.Pools()
	begins := func() string {
		id, _, err := pools.BeginImport(w.ctx, "dummy", "fs-old", "data")
		w.ok(err)
		return id
	}
	finds := func(n int) {
		t.Helper()
		if found := w.check(false); len(found) != n || n > 0 && !strings.HasSuffix(found[0].What,
			"repeat the import: juju import-filesystem dummy fs-old data") {
			t.Errorf("found %+v, want %d", found, n)
		}
	}
	begins()
	finds(0) // it may still go on
	c.pass(time.Hour)
	finds(1)
	again := begins()
	w.ok(pools.EndImport(w.ctx, "fs-old", again)) // refused, which says nothing of the first
	finds(1)
	w.ok(pools.EndImport(w.ctx, "fs-old", ""))
	finds(0)
	begins()
	c.pass(time.Hour)
	w.ok(pools.Import(w.ctx, begins(), "dummy", entity.Filesystem{ID: "fs-old", Size: 7}))
	finds(0)
}

// Of two imports of one filesystem the later is refused, also if it began before the other ended.
func TestAFilesystemIsImportedOnce(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	pools := s.st.Pools()
	f := entity.Filesystem{ID: "fs-old", Size: 7}
	var ids []string
	for range 2 {
		id, _, err := pools.BeginImport(s.ctx, "dummy", f.ID, "data")
		s.ok(err)
		ids = append(ids, id)
	}
	s.st.Before(func() { s.ok(pools.Import(s.ctx, ids[0], "dummy", f)) })
	s.refused(pools.Import(s.ctx, ids[1], "dummy", f), entity.InUse, `filesystem "fs-old" is that of storage "`+ids[0]+`"`)
}
