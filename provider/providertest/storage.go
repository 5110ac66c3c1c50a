package providertest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"juju/provider"
	"juju/state/entity"
)

func testStorage(t *testing.T, w *world) {
	inst := w.start(t, w.a, "0", "n")
	for i, pool := range []string{w.Profile.Cloud, entity.PoolRootFS} {
		p := provider.FilesystemParams{Storage: fmt.Sprint("data/", i), Size: 1, Instance: inst.ID,
			Pool: entity.StoragePool{Name: pool, Provider: pool}}
		f, err := w.a.CreateFilesystem(w.ctx, p)
		if err != nil || f.ID == "" || f.Size < p.Size {
			t.Fatalf("pool %s: created %+v (%v)", pool, f, err)
		}
		if again, err := w.a.CreateFilesystem(w.ctx, p); again != f || err != nil {
			t.Errorf("pool %s: created again: %+v (%v), want %+v", pool, again, err, f)
		}
		at := provider.AttachmentParams{Filesystem: f.ID, Instance: inst.ID, Mount: fmt.Sprint("/srv/", i)}
		attached := func(at provider.AttachmentParams, want bool) {
			t.Helper()
			if got, err := w.a.IsFilesystemAttached(w.ctx, at); got != want || err != nil {
				t.Errorf("pool %s: attached at %s: %v (%v), want %v", pool, at.Mount, got, err, want)
			}
		}
		attached(at, false)
		for range 2 {
			location, err := w.a.AttachFilesystem(w.ctx, at)
			if err != nil || path.Base(location) != fmt.Sprint(i) {
				t.Errorf("pool %s: attached at %q (%v)", pool, location, err)
			}
		}
		attached(at, true)
		elsewhere := at
		elsewhere.Mount = "/srv/elsewhere"
		attached(elsewhere, false)
		for range 2 {
			if err := w.a.DetachFilesystem(w.ctx, at); err != nil {
				t.Error(err)
			}
		}
		attached(at, false)
		lost := at
		lost.Instance = "lost"
		if _, err := w.a.IsFilesystemAttached(w.ctx, lost); !errors.Is(err, entity.NotProvisioned) {
			t.Errorf("pool %s: attached to a missing instance: got error %v, want one that is NotProvisioned", pool, err)
		}
		for range 2 {
			if err := w.a.DestroyFilesystem(w.ctx, f.ID); err != nil {
				t.Error(err)
			}
		}
		if err := w.a.DetachFilesystem(w.ctx, at); err != nil {
			t.Error(err)
		}
	}
	w.stop(t, w.a, inst.ID)
}

func testPools(t *testing.T, w *world) {
	for _, name := range []string{w.Profile.Cloud, entity.PoolRootFS} {
		pool := entity.StoragePool{Name: "x", Provider: name}
		if err := w.a.CheckPool(pool); err != nil {
			t.Errorf("a pool of %s without attributes: %v", name, err)
		}
		if size, of, err := w.a.PoolSize(w.ctx, pool); size == 0 || of == "" || err != nil {
			t.Errorf("a pool of %s has %d MiB of %q, %v", name, size, of, err)
		}
		pool.Attributes = map[string]string{"colour": "red"}
		if err := w.a.CheckPool(pool); !errors.Is(err, entity.Invalid) {
			t.Errorf("a pool of %s with an unknown attribute: error %v, want Invalid", name, err)
		}
	}
}

func testImport(t *testing.T, w *world) {
	own := entity.StoragePool{Name: w.Profile.Cloud, Provider: w.Profile.Cloud}
	create := func(storage string) string {
		t.Helper()
		f, err := w.a.CreateFilesystem(w.ctx, provider.FilesystemParams{Storage: storage, Size: 2, Pool: own})
		if err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	b := w.open(t, ModelB)
	rejected := func(e provider.Environ, id string, pool entity.StoragePool, kinds ...entity.Kind) {
		t.Helper()
		_, err := e.ImportFilesystem(w.ctx, provider.ImportParams{ID: id, Storage: "data/8", Pool: pool})
		if !slices.Contains(kinds, entity.KindOf(err)) {
			t.Errorf("import of %s from pool %s: got error %v, want one that is %v", id, pool.Name, err, kinds)
		}
	}
	first, kept := create("data/0"), create("data/1")
	id := w.a.ImportID(first)
	// Before model A releases it, the filesystem is in use, or is not found where releases go.
	rejected(b, id, own, entity.InUse, entity.NotFound)
	if err := w.a.ReleaseFilesystem(w.ctx, first); err != nil {
		t.Fatal(err)
	}
	rejected(b, id, entity.StoragePool{Name: entity.PoolRootFS, Provider: entity.PoolRootFS}, entity.NotSupported)
	for i := range 3 { // a killed controller may repeat it for another storage instance
		f, err := b.ImportFilesystem(w.ctx, provider.ImportParams{ID: id, Storage: fmt.Sprint("disk/", i), Pool: own})
		if err != nil || f.ID != id || f.Size == 0 || f.Instance != "" {
			t.Fatalf("imported %+v (%v)", f, err)
		}
	}
	rejected(w.a, id, own, entity.InUse)

	inst := w.start(t, b, "0", "n")
	at := provider.AttachmentParams{Filesystem: id, Instance: inst.ID, Mount: "/srv/disk"}
	if _, err := b.AttachFilesystem(w.ctx, at); err != nil {
		t.Error(err)
	}
	if attached, err := b.IsFilesystemAttached(w.ctx, at); !attached || err != nil {
		t.Errorf("attached: %v (%v)", attached, err)
	}
	if err := b.DetachFilesystem(w.ctx, at); err != nil {
		t.Error(err)
	}
	w.stop(t, b, inst.ID)

	// Once released again, any model can import it, including the first.
	for range 2 {
		if err := b.ReleaseFilesystem(w.ctx, id); err != nil {
			t.Error(err)
		}
	}
	if id = b.ImportID(id); id == "" {
		t.Error("no id to import a released filesystem by")
	}
	if _, err := w.a.ImportFilesystem(w.ctx, provider.ImportParams{ID: id, Storage: "data/7", Pool: own}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := w.a.DestroyFilesystem(w.ctx, id); err != nil {
			t.Error(err)
		}
	}
	rejected(b, id, own, entity.NotFound)
	if err := w.a.DestroyFilesystem(w.ctx, kept); err != nil {
		t.Error(err)
	}
}
