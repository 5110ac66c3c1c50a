package facades_test

import (
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// The filesystems of storage are listed, of all machines or of some, and in a status that asks for them. There are no
// block devices.
func TestFilesystems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := statetest.Charm(t, w.st, "{name: disk, summary: s, description: d, storage: {data: {type: filesystem, multiple: {range: 0+}}}}")
	_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: "disk", CharmURL: url, Units: 2,
		Storage: map[string]entity.StorageConstraints{"data": {Pool: entity.PoolRootFS, Count: 1, Size: 100}}})
	w.ok(err)
	c := w.admin()
	list := func(filters ...params.MachineFilter) (tags [][]string) {
		var results params.FilesystemDetailsListResults
		w.ok(c.do("Storage", 6, "ListFilesystems", params.FilesystemFilters{Filters: filters}, &results))
		for _, r := range results.Results {
			var of []string
			for _, f := range r.Result {
				of = append(of, f.FilesystemTag)
				if f.Info.Pool != entity.PoolRootFS || f.Info.Size != 100 || f.Storage == nil || f.Life != "alive" || f.Status.Status != "pending" {
					t.Errorf("a filesystem is %+v", f)
				}
			}
			tags = append(tags, of)
		}
		return tags
	}
	if got := list(params.MachineFilter{}, params.MachineFilter{Machines: []string{"1"}}); len(got) != 2 || len(got[0]) != 2 ||
		got[0][0] != "filesystem-0" || len(got[1]) != 1 || got[1][0] != "filesystem-1" {
		t.Errorf("the filesystems are %v", got)
	}
	var volumes params.VolumeDetailsListResults
	w.ok(c.do("Storage", 6, "ListVolumes", params.VolumeFilters{Filters: []params.MachineFilter{{}}}, &volumes))
	if len(volumes.Results) != 1 || volumes.Results[0].Error != nil || len(volumes.Results[0].Result) != 0 {
		t.Errorf("the volumes are %+v", volumes)
	}
	for _, include := range []bool{true, false} {
		var status params.FullStatus
		w.ok(c.do("Client", 7, "FullStatus", params.StatusParams{IncludeStorage: include}, &status))
		if n := map[bool]int{true: 2}[include]; len(status.Storage) != n || len(status.Filesystems) != n {
			t.Errorf("asked %v, a status has %d storage instances and %d filesystems", include, len(status.Storage), len(status.Filesystems))
		}
	}
}

// Storage that is larger than all that the cloud has would wait for ever. It is refused, wherever its size comes from.
func TestStorageThatNoCloudCanHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onCloud(dummytest.New(nil)))
	ctx, c := t.Context(), w.admin().client()
	charm := func(name, least string) string {
		return statetest.Charm(t, w.st, "{name: "+name+", summary: s, description: d, storage: {data: {type: filesystem, "+
			"minimum-size: "+least+", multiple: {range: 0+}}}}")
	}
	some, greedy := charm("disk", "1G"), charm("greedy", "900T")
	size := func(text string) map[string]entity.StorageConstraints {
		one, err := entity.ParseStorageConstraints(text)
		w.ok(err)
		return map[string]entity.StorageConstraints{"data": one}
	}
	_, err := c.Deploy(ctx, client.DeployArgs{Service: "disk", CharmURL: some, Units: 1, Storage: size("100T")})
	w.ok(err)
	_, byUser := c.Deploy(ctx, client.DeployArgs{Service: "large", CharmURL: some, Storage: size("101T")})
	_, byCharm := c.Deploy(ctx, client.DeployArgs{Service: "greedy", CharmURL: greedy, Storage: size(entity.PoolRootFS)})
	_, byUpgrade := c.SetCharm(ctx, client.SetCharmArgs{Service: "disk", CharmURL: some, Storage: size("900T")})
	_, more := c.AddStorage(ctx, "disk/0", size("900T"))
	for err, want := range map[error]string{
		byUser:    `cannot deploy "large": storage "data" cannot be met: 101.0TiB is more than the dummy has, 100.0TiB`,
		byCharm:   `cannot deploy "greedy": storage "data" cannot be met: 900.0TiB is more than the dummy has, 100.0TiB`,
		byUpgrade: `cannot upgrade service "disk": storage "data" cannot be met: 900.0TiB is more than the dummy has, 100.0TiB`,
		more:      `storage "data" cannot be met: 900.0TiB is more than the dummy has, 100.0TiB`,
	} {
		if err == nil || err.Error() != want || entity.KindOf(err) != entity.Invalid || entity.Hint(err) != "Ask for less, or for another pool: data=POOL,SIZE" {
			t.Errorf("got %v (%s), want %s", err, entity.Hint(err), want)
		}
	}
	_, err = c.Deploy(ctx, client.DeployArgs{Service: "none", CharmURL: greedy, Storage: map[string]entity.StorageConstraints{"data": {}}})
	w.ok(err)
}
