package facades_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/provider"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// releasedWorld is storedWorld on a cloud where another model has made fs-data-0 and fs-data-1, and released
// the first.
func releasedWorld(t *testing.T) (*world, *dummytest.Cloud, provider.Environ) {
	w, cloud, environ := storedWorld(t)
	other, err := cloud.Open(t.Context(), provider.Config{Controller: "c", Model: "other"})
	w.ok(err)
	for _, id := range []string{"data/0", "data/1"} {
		_, err := other.CreateFilesystem(t.Context(), provider.FilesystemParams{Storage: id, Size: 5})
		w.ok(err)
	}
	w.ok(other.ReleaseFilesystem(t.Context(), "fs-data-0"))
	return w, cloud, environ
}

func storedIDs(w *world) (ids []string) {
	w.Helper()
	all, err := w.st.StorageStatus(w.Context())
	w.ok(err)
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

func refusedWith(t *testing.T, err error, kind entity.Kind, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v, want %q of kind %q", err, text, kind)
	}
}

// recorded returns how many imports the model has recorded that have neither ended nor been refused.
func recorded(w *world) int {
	w.Helper()
	all, err := w.st.Dump(w.Context())
	w.ok(err)
	return len(all["imports"])
}

// givenUp returns how many filesystems the cloud was asked to release or destroy.
func givenUp(cloud *dummytest.Cloud) (n int) {
	for _, op := range cloud.Ops() {
		if op.Method == "ReleaseFilesystem" || op.Method == "DestroyFilesystem" {
			n++
		}
	}
	return n
}

// What another model has released is storage that no unit has, and that services can be deployed with.
func TestImportFilesystem(t *testing.T) {
	t.Parallel()
	w, _, _ := releasedWorld(t)
	admin := w.admin().client()
	id, err := admin.ImportFilesystem(t.Context(), "dummy", "fs-data-0", "certs")
	w.ok(err)
	all, errs, err := admin.ShowStorage(t.Context(), id)
	w.ok(errors.Join(append(errs, err)...))
	if got := all[0]; got.ID != id || got.Status.Status != entity.StatusDetached || got.Size != 5 || got.Pool != "dummy" ||
		!got.Persistent || got.ImportID != "fs-data-0" {
		t.Errorf("imported %+v", got)
	}
	svc, err := w.st.Service(t.Context(), "vault")
	w.ok(err)
	units, err := svc.AddUnits(t.Context(), 1, nil, id)
	w.ok(err)
	list, err := admin.Storage(t.Context())
	w.ok(err)
	if !slices.ContainsFunc(list, func(s entity.StorageStatus) bool { return s.ID == id && s.Unit == units[0] }) {
		t.Errorf("listed are %+v", list)
	}
}

// A user adds storage to a unit and is told the ids of it.
func TestAddStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	url := statetest.Charm(t, w.st,
		`{name: disk, summary: s, description: d, storage: {data: {type: filesystem, multiple: {range: 0-}}}}`)
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "disk", CharmURL: url, Units: 1})
	w.ok(err)
	admin := w.admin().client()
	var added []string
	for _, count := range []uint64{2, 0} { // which stands for one
		ids, err := admin.AddStorage(ctx, "disk/0", map[string]entity.StorageConstraints{"data": {Pool: entity.PoolRootFS, Count: count}})
		w.ok(err)
		added = append(added, ids...)
	}
	if listed := storedIDs(w); len(added) != 3 || !slices.Equal(added, listed) {
		t.Errorf("added are %q, and listed %q", added, listed)
	}
	_, err = admin.AddStorage(ctx, "disk/0", map[string]entity.StorageConstraints{"nosuch": {}})
	refusedWith(t, err, entity.Invalid, `charm "disk" has no store called "nosuch"`)
}

// The cloud is asked for the ids of storage that outlives its machine only, and a list does without them while it is away.
func TestStorageIsListedWithoutTheCloud(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) {
		c.Cloud = func(context.Context, string) (facades.Cloud, error) { return nil, errors.New("no route to host") }
	})
	ctx := t.Context()
	url := statetest.Charm(t, w.st, `{name: disk, summary: s, description: d, storage: {data: {type: filesystem}}}`)
	admin := w.admin().client()
	for i, pool := range []string{entity.PoolRootFS, "dummy"} {
		_, err := w.st.AddService(ctx, state.AddServiceParams{Name: pool, CharmURL: url, Units: 1,
			Storage: map[string]entity.StorageConstraints{"data": {Pool: pool, Count: 1}}})
		w.ok(err)
		s, err := w.st.Storage(ctx, fmt.Sprintf("data/%d", i))
		w.ok(err)
		w.ok(s.SetFilesystem(ctx, entity.Filesystem{ID: "fs-" + pool, Size: 1}))
		all, err := admin.Storage(ctx)
		if err != nil || len(all) != i+1 || all[i].Filesystem != "fs-"+pool || all[i].ImportID != "" {
			t.Errorf("listed are %+v (%v)", all, err)
		}
		_, errs, err := admin.ShowStorage(ctx, s.ID())
		w.ok(err)
		if pool == "dummy" {
			refusedWith(t, errs[0], entity.Unavailable, "no route to host")
		} else {
			w.ok(errs[0])
		}
	}
}

// What cannot be imported is refused, and neither the model nor the cloud has changed. If the cloud has not
// answered, a record stays, since the cloud may count the filesystem as the model's.
func TestImportsThatAreRefused(t *testing.T) {
	t.Parallel()
	w, cloud, _ := releasedWorld(t)
	admin := w.admin().client()
	before, ended := storedIDs(w), givenUp(cloud)
	for _, c := range []struct {
		pool, filesystem, store string
		kind                    entity.Kind
		text                    string
	}{
		{"slow", "fs-data-0", "data", entity.NotFound, `pool "slow" not found`},
		{"rootfs", "fs-data-0", "data", entity.NotSupported, `storage provider "rootfs" has no filesystems to import`},
		{"dummy", "fs-data-0", "data/0", entity.Invalid, `storage name "data/0" not valid`},
		{"dummy", "", "data", entity.Invalid, "filesystem has no id"},
		{"dummy", "fs-none", "data", entity.NotFound, `filesystem "fs-none" not found`},
		{"dummy", "fs-data-1", "data", entity.InUse, `filesystem "fs-data-1" is storage of model other`},
		{"dummy", "fs-certs/0", "data", entity.InUse, `filesystem "fs-certs/0" is that of storage "certs/0"`},
	} {
		_, err := admin.ImportFilesystem(t.Context(), c.pool, c.filesystem, c.store)
		refusedWith(t, err, c.kind, c.text)
	}
	for _, kind := range []int{0, 1, 3} {
		var got params.ImportStorageResults
		w.ok(w.admin().do("Storage", 6, "Import", params.BulkImportStorageParams{Storage: []params.ImportStorageParams{
			{Kind: kind, Pool: "dummy", ProviderID: "fs-data-0", StorageName: "data"}}}, &got))
		refusedWith(t, params.FromError(got.Results[0].Error), entity.NotSupported, "only filesystems can be imported")
	}
	if n := recorded(w); n != 0 {
		t.Errorf("%d refused imports are recorded", n)
	}
	cloud.Fail("ImportFilesystem", 1, errors.New("its host is away"))
	_, err := admin.ImportFilesystem(t.Context(), "dummy", "fs-data-0", "data")
	refusedWith(t, err, entity.Unavailable, "cannot ask the cloud for the filesystem: its host is away")
	if n := recorded(w); n != 1 {
		t.Errorf("%d imports that the cloud has not answered are recorded, want 1", n)
	}
	if now := storedIDs(w); !slices.Equal(now, before) || givenUp(cloud) != ended {
		t.Errorf("there is storage %q, before %q; %d filesystems are given up, before %d", now, before, givenUp(cloud), ended)
	}
}

// What the cloud has taken in and the model cannot record is given up again.
func TestAnImportThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	w, cloud, _ := releasedWorld(t)
	ctx := t.Context()
	admin := w.admin().client()
	ops := cloud.Watch(ctx)
	goOn := cloud.Stall("ImportFilesystem")
	imported := make(chan error, 1)
	go func() {
		_, err := admin.ImportFilesystem(ctx, "dummy", "fs-data-0", "data")
		imported <- err
	}()
	for op := range ops {
		if op.Stalled {
			break
		}
	}
	w.ok(w.st.Destroy(ctx, entity.Destruction{Release: true}))
	goOn()
	refusedWith(t, <-imported, entity.NotAlive, "is no longer alive")
	if n := recorded(w); n != 0 {
		t.Errorf("%d imports are recorded after they were given up", n)
	}
	another, err := cloud.Open(ctx, provider.Config{Controller: "c", Model: "another"})
	w.ok(err)
	_, err = another.ImportFilesystem(ctx, provider.ImportParams{ID: "fs-data-0", Storage: "data/0"})
	w.ok(err)
}

// A controller that was killed has had the cloud take in a filesystem, and has not recorded it: the same
// import again records it.
func TestAnImportIsRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	w, _, environ := releasedWorld(t)
	_, err := environ.ImportFilesystem(t.Context(), provider.ImportParams{ID: "fs-data-0", Storage: "data/2"})
	w.ok(err)
	id, err := w.admin().client().ImportFilesystem(t.Context(), "dummy", "fs-data-0", "data")
	w.ok(err)
	if !slices.Contains(storedIDs(w), id) {
		t.Errorf("storage is %q, without %s", storedIDs(w), id)
	}
}

// Of two imports of one filesystem at once one is refused, and does not give up what the other has.
func TestTwoConcurrentImports(t *testing.T) {
	t.Parallel()
	w, cloud, _ := releasedWorld(t)
	ctx := t.Context()
	admin := w.admin().client()
	before, ended := storedIDs(w), givenUp(cloud)
	results := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := admin.ImportFilesystem(ctx, "dummy", "fs-data-0", "data")
			results <- err
		}()
	}
	errs := []error{<-results, <-results}
	if errs[0] != nil {
		errs[0], errs[1] = errs[1], errs[0]
	}
	w.ok(errs[0])
	refusedWith(t, errs[1], entity.InUse, "is that of storage")
	if got := storedIDs(w); len(got) != len(before)+1 || givenUp(cloud) != ended {
		t.Errorf("storage is %q, before %q; %d filesystems are given up, before %d", got, before, givenUp(cloud), ended)
	}
}

// A pool's attributes are for the cloud to know, and an older pool keeps its own.
func TestPoolsHaveAttributesThatTheCloudKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onCloud(dummytest.New(nil)))
	ctx, admin := t.Context(), w.admin().client()
	pool := entity.StoragePool{Name: "fast", Provider: "dummy", Attributes: map[string]string{"colour": "red"}}
	unknown := `storage provider "dummy" has no attribute "colour"`
	refusedWith(t, admin.CreateStoragePool(ctx, pool), entity.Invalid, unknown)
	known := map[string]string{"storage-dir": "/mnt"}
	w.ok(admin.CreateStoragePool(ctx, entity.StoragePool{Name: "fast", Provider: "dummy", Attributes: known}))
	refusedWith(t, admin.UpdateStoragePool(ctx, "fast", pool.Attributes), entity.Invalid, unknown)
	refusedWith(t, admin.UpdateStoragePool(ctx, "slow", known), entity.NotFound, `storage pool "slow" not found`)
	all, err := admin.StoragePools(ctx, []string{"fast"}, nil)
	w.ok(err)
	if len(all) != 1 || !maps.Equal(all[0].Attributes, known) {
		t.Errorf("the pools are %+v", all)
	}
}
