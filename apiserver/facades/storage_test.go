package facades_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// What requests about storage name is storage, a unit or a pool that there is.
func TestRequestsAboutStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const none = `storage "a/0" not found → To list the storage: juju storage`
	const noStorage, noUnit = `"unit-a-0" is not a valid storage tag`, `"storage-a-0" is not a valid unit tag`
	w.admin().says(
		step{"Storage 6 Attach", `{"ids":[{"storage-tag":"unit-a-0","unit-tag":"unit-a-0"},{"storage-tag":"storage-a-0","unit-tag":"storage-a-0"},
			{"storage-tag":"storage-a-0","unit-tag":"unit-a-0"}]}`, noStorage + "\n" + noUnit + "\n" + `unit "a/0" not found`},
		step{"Storage 6 DetachStorage", `{"ids":{"ids":[{"storage-tag":"unit-a-0"},{"storage-tag":"storage-a-0"}]}}`, noStorage + "\n" + none},
		step{"Storage 6 Remove", `{"storage":[{"tag":"unit-a-0"},{"tag":"storage-a-0"}]}`, noStorage + "\n" + none},
		step{"Storage 6 RemovePool", `{"pools":[{"name":"none"}]}`, `storage pool "none" not found`},
	)
}

// Attached storage is removed only by whoever says so.
func TestAttachedStorageIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := statetest.Charm(t, w.st, `{name: disk, summary: s, description: d, storage: {data: {type: filesystem, multiple: {range: 0-}}}}`)
	_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: "disk", CharmURL: url, Units: 1,
		Storage: map[string]entity.StorageConstraints{"data": {Pool: entity.PoolRootFS, Count: 2}}})
	w.ok(err)
	life := func(id string) entity.Life {
		t.Helper()
		s, err := w.st.Storage(t.Context(), id)
		w.ok(err)
		return s.Life()
	}
	w.admin().says(step{"Storage 6 Remove", `{"storage":[{"tag":"storage-data-0"},{"tag":"storage-data-1","destroy-attachments":true,"destroy-storage":true}]}`,
		"storage is attached → Use the --force option to remove attached storage, or use \"juju detach-storage\" to explicitly detach the " +
			"storage before removing.\n{}"})
	if a, b := life("data/0"), life("data/1"); a != entity.Alive || b != entity.Dying {
		t.Errorf("the storage is %s and %s", a, b)
	}
}
