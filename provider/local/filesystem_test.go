package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"juju/provider"
	"juju/state/entity"
)

// A disk is a cloud with the directories of two instances, "one" and "two", without processes.
type disk struct {
	*testing.T
	*environ
}

func newDisk(t *testing.T) disk {
	h := newHost(t, newController())
	c := h.cloud()
	d := disk{t, h.environ(c).(*environ)}
	for _, instance := range []string{"one", "two"} {
		d.ok(os.MkdirAll(d.root(instance), 0o700))
	}
	t.Cleanup(func() { // what the end of the cloud leaves to the user
		d.ok(d.Destroy(context.Background()))
		d.ok(os.RemoveAll(filepath.Join(h.dir, releasedName)))
	})
	return d
}

func (d disk) root(instance string) string { return d.cloud.dir(d.config.Model, instance) }

func (d disk) ok(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d disk) refused(err error, kind entity.Kind, text string) {
	d.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || kind != "" && !errors.Is(err, kind) {
		d.Errorf("got error %v, want %q of kind %q", err, text, kind)
	}
}

func (d disk) make(storage string, pool entity.StoragePool, instance string) (entity.Filesystem, error) {
	return d.CreateFilesystem(d.Context(),
		provider.FilesystemParams{Storage: storage, Pool: pool, Size: 1, Instance: instance})
}

// made creates a filesystem in the cloud's own pool.
func (d disk) made(storage string) string {
	d.Helper()
	f, err := d.make(storage, own, "")
	d.ok(err)
	return f.ID
}

func at(id, instance, mount string) provider.AttachmentParams {
	return provider.AttachmentParams{Filesystem: id, Instance: instance, Mount: mount}
}

func (d disk) attached(id, instance, mount string) (location string) {
	d.Helper()
	location, err := d.AttachFilesystem(d.Context(), at(id, instance, mount))
	d.ok(err)
	return location
}

// is checks that the directory at a path has a file "who" with this text, or none if it is "".
func (d disk) is(dir, want string) {
	d.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "who"))
	if string(got) != want || (err == nil) != (want != "") {
		d.Errorf("%s has %q, %v, want %q", dir, got, err, want)
	}
}

// outside checks which filesystems outside the cloud's directory models have.
func (d disk) outside(want ...string) {
	d.Helper()
	got, err := OutsideStorage(d.cloud.config.Dir)
	d.ok(err)
	if !slices.Equal(got[d.config.Model], want) {
		d.Errorf("outside there are %q, want %q", got, want)
	}
}

func (d disk) empty(dir string) {
	d.Helper()
	left, err := os.ReadDir(dir)
	d.ok(err)
	if len(left) > 0 {
		d.Errorf("%s is left in %s", left[0].Name(), dir)
	}
}

func (d disk) write(dir, text string) {
	d.Helper()
	d.ok(os.WriteFile(filepath.Join(dir, "who"), []byte(text), 0o600))
}

var (
	own    = entity.StoragePool{Name: "local", Provider: "local"}
	onDisk = entity.StoragePool{Name: "rootfs", Provider: "rootfs"}
)

func TestAFilesystemMovesBetweenInstances(t *testing.T) {
	d := newDisk(t)
	id := d.made("data/0")
	if again := d.made("data/0"); again != id {
		t.Errorf("created again: got %s, want %s", again, id)
	}
	first := d.attached(id, "one", "/srv/data")
	if want := filepath.Join(d.root("one"), "root/srv/data"); first != want {
		t.Errorf("it is at %s, want %s", first, want)
	}
	d.write(first, "first")
	d.attached(id, "one", "/srv/data")
	for range 2 {
		d.ok(d.DetachFilesystem(t.Context(), at(id, "one", "/srv/data")))
		d.is(first, "")
	}
	second := d.attached(id, "two", "/var/lib/juju/storage/data/0")
	if want := filepath.Join(d.root("two"), "storage/data/0"); second != want {
		t.Errorf("it is at %s, want %s", second, want)
	}
	d.is(second, "first")
	for range 2 {
		d.ok(d.DestroyFilesystem(t.Context(), id))
		d.is(second, "")
	}
	_, err := d.AttachFilesystem(t.Context(), at(id, "one", "/srv/data"))
	d.refused(err, "", "no such file")
}

// A filesystem is attached if the link leads to it and it exists.
func TestIsAttached(t *testing.T) {
	d := newDisk(t)
	id, other := d.made("data/0"), d.made("data/1")
	link := d.attached(id, "one", "/srv/data")
	is := func(what, id string, want bool) {
		t.Helper()
		if got, err := d.IsFilesystemAttached(t.Context(), at(id, "one", "/srv/data")); got != want || err != nil {
			t.Errorf("%s: got attached = %v (%v)", what, got, err)
		}
	}
	is("linked", id, true)
	is("another filesystem", other, false)
	d.ok(d.DestroyFilesystem(t.Context(), id))
	is("without a filesystem", id, false)
	d.made("data/0")
	is("made again", id, true)
	d.ok(os.Remove(link))
	d.ok(os.Mkdir(link, 0o700))
	is("a directory", id, false)
}

func TestAFilesystemOnTheDiskOfAnInstance(t *testing.T) {
	d := newDisk(t)
	for _, none := range []string{"", "three"} {
		_, err := d.make("data/0", onDisk, none)
		d.refused(err, entity.NotProvisioned, "its machine has no instance yet")
	}
	f, err := d.make("data/0", onDisk, "one")
	d.ok(err)
	location := d.attached(f.ID, "one", "/srv/data")
	d.write(location, "here")
	d.ok(d.ReleaseFilesystem(t.Context(), f.ID))
	d.is(location, "here")
	d.ok(os.RemoveAll(d.root("one")))
	d.ok(d.DestroyFilesystem(t.Context(), f.ID))
}

func TestAFilesystemInTheDirectoryOfAPool(t *testing.T) {
	d := newDisk(t)
	dir := t.TempDir()
	pool := entity.StoragePool{Name: "fast", Provider: "local", Attributes: map[string]string{PoolDir: dir}}
	f, err := d.make("data/0", pool, "")
	d.ok(err)
	if want := filepath.Join(dir, d.config.Model, "data-0"); f.ID != want {
		t.Errorf("it is %s, want %s", f.ID, want)
	}
	location := d.attached(f.ID, "one", "/srv/data")
	d.write(location, "fast")
	d.outside(f.ID)
	other, err := d.make("data/2", pool, "")
	d.ok(err)
	for range 2 {
		d.ok(d.ReleaseFilesystem(t.Context(), f.ID))
		d.is(f.ID, "fast")
		d.outside(other.ID)
	}
	for range 2 {
		d.ok(d.DestroyFilesystem(t.Context(), other.ID))
		d.is(f.ID, "fast")
		d.outside()
	}
	for range 2 {
		d.ok(d.DestroyFilesystem(t.Context(), f.ID))
		d.empty(dir)
	}
	pool.Attributes = map[string]string{PoolDir: filepath.Join(dir, "missing")}
	_, err = d.make("data/1", pool, "")
	d.refused(err, "", `storage-dir of pool "fast": `)
}

func TestTheDirectoryOfAPoolIsAnAbsolutePath(t *testing.T) {
	d := newDisk(t)
	pool := entity.StoragePool{Name: "fast", Provider: "local"}
	for _, dir := range []string{"", "mnt", "/mnt/../etc", "/mnt/", "/" + strings.Repeat("x", maxPoolDir)} {
		pool.Attributes = map[string]string{PoolDir: dir}
		d.refused(d.CheckPool(pool), entity.Invalid, "is not an absolute path of at most 100 bytes")
	}
	pool.Attributes = map[string]string{PoolDir: "/" + strings.Repeat("x", maxPoolDir-1)}
	d.ok(d.CheckPool(pool))
}

// A filesystem can be created while the model's directory in the pool is removed with its last one.
func TestConcurrentFilesystemsInTheDirectoryOfAPool(t *testing.T) {
	d := newDisk(t)
	pool := entity.StoragePool{Name: "fast", Provider: "local", Attributes: map[string]string{PoolDir: t.TempDir()}}
	var all errgroup.Group
	for n := range 4 {
		all.Go(func() error {
			for range 200 {
				f, err := d.make(fmt.Sprintf("data/%d", n), pool, "")
				if err == nil {
					err = d.DestroyFilesystem(t.Context(), f.ID)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// Filesystems that are not released when a controller is destroyed are destroyed or kept, as requested.
func TestStorageOfAControllerThatIsDestroyed(t *testing.T) {
	for _, destroys := range []bool{true, false} {
		d := newDisk(t)
		dir := t.TempDir()
		id := d.made("data/0")
		path, err := d.filesystem(id)
		d.ok(err)
		d.write(path, "own")
		f, err := d.make("data/1", entity.StoragePool{Name: "fast", Provider: "local",
			Attributes: map[string]string{PoolDir: dir}}, "")
		d.ok(err)
		d.write(f.ID, "fast")
		gone := d.made("data/2")
		d.ok(d.ReleaseFilesystem(t.Context(), gone))
		for range 2 {
			d.ok(d.DestroyController(t.Context(), destroys))
			d.outside()
		}
		released := filepath.Join(Released(d.cloud.config.Dir), d.config.Model)
		if destroys {
			d.is(filepath.Join(released, id), "")
			d.empty(dir)
		} else {
			d.is(filepath.Join(released, id), "own")
			d.is(f.ID, "fast")
		}
		if _, err := os.Stat(filepath.Join(released, gone)); err != nil {
			t.Errorf("filesystem released before: %v", err)
		}
		if !IsFree(d.cloud.config.Dir) {
			t.Error("another controller can't use the directory")
		}
	}
}

// Only directories that the cloud has created are removed, whatever the id.
func TestOtherPathsAreNotRemoved(t *testing.T) {
	d := newDisk(t)
	dir := t.TempDir()
	for _, id := range []string{"", "..", "one/..", "../one", "a/b/c", dir, "/", filepath.Join(dir, "model", "data-0"),
		filepath.Join(dir, d.config.Model), filepath.Join(dir, d.config.Model) + "/.."} {
		d.refused(d.DestroyFilesystem(t.Context(), id), entity.Invalid, "is not a filesystem of this cloud")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestAPathThatIsInUse(t *testing.T) {
	d := newDisk(t)
	one, two := d.made("data/0"), d.made("data/1")
	d.ok(os.MkdirAll(filepath.Join(d.root("one"), "root/srv/there"), 0o700))
	_, err := d.AttachFilesystem(t.Context(), at(one, "one", "/srv/there"))
	d.refused(err, entity.InUse, "/srv/there exists")
	d.attached(one, "one", "/srv/data")
	d.ok(os.WriteFile(filepath.Join(d.root("one"), "root/srv/file"), nil, 0o600))
	_, err = d.AttachFilesystem(t.Context(), at(two, "one", "/srv/file/below"))
	d.refused(err, entity.InUse, "/srv/file is not a directory")
	// A leftover link is replaced; detaching its filesystem does not detach the new one.
	location := d.attached(two, "one", "/srv/data")
	d.write(location, "second")
	d.ok(d.DetachFilesystem(t.Context(), at(one, "one", "/srv/data")))
	d.is(location, "second")
	_, err = d.AttachFilesystem(t.Context(), at(one, "three", "/srv/data"))
	d.refused(err, entity.NotProvisioned, "its machine has no instance")
}

func TestAReleasedFilesystemStaysWithTheUser(t *testing.T) {
	d := newDisk(t)
	id, rest := d.made("data/0"), d.made("data/1")
	dir, err := d.filesystem(id)
	d.ok(err)
	d.write(dir, "kept")
	left, err := d.filesystem(rest)
	d.ok(err)
	d.write(left, "too")
	for range 2 {
		d.ok(d.ReleaseFilesystem(t.Context(), id))
	}
	d.is(dir, "")
	d.ok(d.Destroy(t.Context()))
	released := d.cloud.released(d.config.Model)
	d.is(filepath.Join(released, id), "kept")
	d.is(filepath.Join(released, rest), "too")
}

func TestFilesystemsThatAreRefused(t *testing.T) {
	d := newDisk(t)
	_, err := d.CreateFilesystem(t.Context(), provider.FilesystemParams{Storage: "data/0", Pool: own, Size: math.MaxInt64})
	d.refused(err, "", "filesystem is not big enough (")
	if hint := entity.Hint(err); !strings.Contains(hint, `for the size that storage "data" asks for, 9223372036854775807M; or deploy with less: --storage data=SIZE`) {
		t.Errorf("the hint is %q", hint)
	}
	_, err = d.make("data/0", entity.StoragePool{Name: "ebs", Provider: "ebs"}, "")
	d.refused(err, entity.NotSupported, `this cloud has no storage provider "ebs"`)
}

// A filesystem can be attached inside another one, on each instance in turn. A link that a charm has
// created there is not followed.
func TestAFilesystemInAnother(t *testing.T) {
	d := newDisk(t)
	outer, inner := d.made("common/0"), d.made("certs/0")
	for _, instance := range []string{"one", "two"} {
		d.attached(outer, instance, "/srv/common")
		at := d.attached(inner, instance, "/srv/common/certs")
		if instance == "one" {
			d.ok(os.WriteFile(filepath.Join(at, "who"), []byte("me"), 0o600))
		}
		d.is(at, "me")
	}
	dir, err := d.filesystem(outer)
	d.ok(err)
	d.ok(os.Symlink(d.TempDir(), filepath.Join(dir, "away")))
	_, err = d.AttachFilesystem(d.Context(), at(inner, "one", "/srv/common/away/certs"))
	d.refused(err, entity.InUse, "away is not a directory")
}

// imported imports a path as a filesystem of the model.
func (d disk) imported(path, storage string, pool entity.StoragePool) error {
	d.Helper()
	f, err := d.ImportFilesystem(d.Context(), provider.ImportParams{ID: path, Storage: storage, Pool: pool})
	if err == nil && f.ID != path {
		d.Errorf("imported %s, it is %s", path, f.ID)
	}
	return err
}

// beside returns another model's disk on the same host. If the controller is another one, it has its
// own directory beside this one's.
func (d disk) beside(otherController bool) disk {
	config := d.cloud.config
	if otherController {
		config.Dir, config.Controller = filepath.Join(filepath.Dir(config.Dir), "other"), newController()
		d.Cleanup(func() { d.ok(os.RemoveAll(config.Dir)) })
	}
	c, err := New(config)
	d.ok(err)
	e, err := c.Open(d.Context(), provider.Config{Controller: config.Controller, Model: newController()})
	d.ok(err)
	other := disk{d.T, e.(*environ)}
	d.ok(os.MkdirAll(other.root("one"), 0o700))
	return other
}

// Another model can import a released filesystem in place with its data, even a model of another
// controller on the host. It is then destroyed with that model, or released.
func TestAReleasedFilesystemIsImported(t *testing.T) {
	for _, beside := range []bool{false, true} {
		for _, destroys := range []bool{false, true} {
			d := newDisk(t)
			first := d.made("data/0")
			path := d.ImportID(first)
			dir, err := d.filesystem(first)
			d.ok(err)
			d.write(dir, "kept")
			d.ok(os.WriteFile(filepath.Join(dir, "big"), make([]byte, 3<<20), 0o600))
			d.ok(d.ReleaseFilesystem(t.Context(), first))

			o := d.beside(beside)
			f, err := o.ImportFilesystem(t.Context(), provider.ImportParams{ID: path, Storage: "disk/4", Pool: own})
			if d.ok(err); f.ID != path || f.Size != 4 {
				t.Errorf("got %+v", f)
			}
			d.refused(d.imported(path, "data/1", own), entity.InUse, "is storage of model "+o.config.Model)
			location := o.attached(path, "one", "/srv/disk")
			d.is(location, "kept")
			o.attached(o.made("disk/5"), "one", "/srv/disk/inner") // in the other
			if beside {
				o.outside(path)
			} else {
				o.outside()
				if all, err := ImportedStorage(d.cloud.config.Dir); err != nil || !slices.Equal(all, []string{path}) {
					t.Errorf("imported filesystems: %q (%v)", all, err)
				}
			}
			d.ok(o.DestroyController(t.Context(), destroys))
			if destroys {
				d.is(path, "")
			} else {
				d.is(path, "kept")
			}
			d.ok(os.RemoveAll(Released(d.cloud.config.Dir)))
		}
	}
}

func TestFilesystemsThatAreNotImported(t *testing.T) {
	d := newDisk(t)
	dir := t.TempDir()
	pool := entity.StoragePool{Name: "fast", Provider: "local", Attributes: map[string]string{PoolDir: dir}}
	f, err := d.make("data/0", pool, "")
	d.ok(err)
	d.write(f.ID, "fast")
	o := d.beside(false)
	d.refused(o.imported(f.ID, "data/1", pool), entity.InUse, "is storage of model "+d.config.Model)
	d.refused(d.beside(true).imported(f.ID, "data/1", pool), entity.InUse, "is storage of model "+d.config.Model)
	d.refused(d.imported(f.ID, "data/1", pool), entity.InUse, "belongs to storage of this model")
	d.ok(d.ReleaseFilesystem(t.Context(), f.ID))
	d.refused(o.imported(f.ID, "data/1", own), entity.Invalid, `is not a filesystem of pool "local"`)

	released := filepath.Join(Released(d.cloud.config.Dir), d.config.Model)
	file, link := filepath.Join(released, "file"), filepath.Join(released, "link")
	d.ok(os.MkdirAll(released, 0o700))
	d.ok(os.WriteFile(file, nil, 0o600))
	d.ok(os.Symlink(f.ID, link))
	for _, path := range []string{file, link, filepath.Join(released, "data-9")} {
		d.refused(d.imported(path, "data/1", own), entity.NotFound, "not found")
	}
	for _, path := range []string{"", "data-0", "/etc", filepath.Join(Released(d.cloud.config.Dir), "etc", "data-0"),
		filepath.Join(d.root("one"), "root"), released, released + "/", released + "/.x", released + "/../" + d.config.Model + "/x",
		filepath.Join(d.cloud.storage(d.config.Model), "data-0"), filepath.Join(t.TempDir(), releasedName, d.config.Model, "x")} {
		d.refused(d.imported(path, "data/1", own), entity.Invalid, "is not a filesystem of pool")
	}
	// The model does not remove a filesystem that it has not imported.
	d.ok(os.MkdirAll(filepath.Join(released, "data-3"), 0o700))
	d.refused(o.DestroyFilesystem(t.Context(), filepath.Join(released, "data-3")), entity.Invalid, "is not a filesystem of this cloud")

	d.ok(o.imported(f.ID, "data/1", pool))
	d.is(o.attached(f.ID, "one", "/srv/data"), "fast")
	d.ok(o.DestroyFilesystem(t.Context(), f.ID))
	d.is(f.ID, "")
	o.outside()
	d.ok(o.DestroyFilesystem(t.Context(), f.ID))
}
