package state_test

import (
	"testing"

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
	s.refused(pools.Create(s.ctx, entity.StoragePool{Name: "x", Provider: "rootfs",
		Attributes: map[string]string{"storage-dir": "/mnt"}}), entity.Invalid,
		`storage provider "rootfs" has no attribute "storage-dir"`)
	for _, bad := range []string{"", "mnt", "/mnt/../etc"} {
		s.refused(pools.Update(s.ctx, "fast", map[string]string{entity.PoolDir: bad}), entity.Invalid,
			"is not an absolute path")
	}
	s.refused(pools.Update(s.ctx, "rootfs", nil), entity.Invalid, `storage pool "rootfs" is the cloud's own`)
	s.refused(pools.Update(s.ctx, "slow", nil), entity.NotFound, `storage pool "slow" not found`)
	s.refused(pools.Remove(s.ctx, "slow"), entity.NotFound, `storage pool "slow" not found`)
	s.refused(pools.Remove(s.ctx, "dummy"), entity.Invalid, `storage pool "dummy" is the cloud's own`)

	ids, err := s.unit("disk/0").AddStorage(s.ctx, "cache", entity.StorageConstraints{Pool: "fast", Count: 1})
	s.ok(err)
	s.refused(pools.Remove(s.ctx, "fast"), entity.InUse, `storage pool "fast" in use`)
	s.ok(pools.Update(s.ctx, "fast", map[string]string{entity.PoolDir: "/mnt/new"}))
	work, err := s.st.Provisioning().StorageWork(s.ctx)
	s.ok(err)
	for _, w := range work {
		if w.ID == ids[0] && w.Pool.Attributes[entity.PoolDir] != "/mnt/fast" {
			t.Errorf("%s comes from %+v", w.ID, w.Pool)
		}
	}
	all, err := pools.All(s.ctx)
	s.ok(err)
	if len(all) != 3 || all[0].Name != "dummy" || all[2].Attributes[entity.PoolDir] != "/mnt/new" {
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
