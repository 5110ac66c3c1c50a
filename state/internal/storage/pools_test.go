package storage_test

import (
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/storage"
)

// Users create pools, change what later storage is like, and remove those that nothing uses.
func TestPools(t *testing.T) {
	t.Parallel()
	m := newDisks(t)
	pools := storage.PoolsOf(m.DB)
	big := entity.StoragePool{Name: "big10", Provider: "dummy", Attributes: map[string]string{"dir": "/big"}}
	m.OK(pools.Create(m.Ctx, big))
	m.OK(pools.Create(m.Ctx, entity.StoragePool{Name: "big9", Provider: "rootfs"}))
	all, err := pools.All(m.Ctx)
	m.OK(err)
	modeltest.Same(t, "the pools", all, []entity.StoragePool{{Name: "dummy", Provider: "dummy"}, {Name: "rootfs", Provider: "rootfs"},
		{Name: "big9", Provider: "rootfs"}, big, fast.Pool()})
	for _, c := range []struct {
		name string
		err  error
		kind entity.Kind
		want string
	}{
		{"a pool again", pools.Create(m.Ctx, big), entity.AlreadyExists, `storage pool "big10" already exists`},
		{"the cloud's again", pools.Create(m.Ctx, entity.StoragePool{Name: "rootfs", Provider: "rootfs"}), entity.AlreadyExists,
			`storage pool "rootfs" already exists`},
		{"another cloud's", pools.Create(m.Ctx, entity.StoragePool{Name: "x", Provider: "ebs"}), entity.NotFound, `storage provider "ebs" not found`},
		{"no name", pools.Create(m.Ctx, entity.StoragePool{Name: "1", Provider: "rootfs"}), entity.Invalid, `pool name "1" not valid`},
		{"change the cloud's", pools.Update(m.Ctx, "rootfs", nil), entity.Invalid, `storage pool "rootfs" is the cloud's own, and cannot be changed`},
		{"change none", pools.Update(m.Ctx, "slow", nil), entity.NotFound, `storage pool "slow" not found`},
		{"remove the cloud's", pools.Remove(m.Ctx, "dummy"), entity.Invalid, `storage pool "dummy" is the cloud's own`},
		{"remove none", pools.Remove(m.Ctx, "slow"), entity.NotFound, `storage pool "slow" not found`},
	} {
		t.Run(c.name, func(t *testing.T) { modeltest.Refused(t, c.err, c.kind, c.want) })
	}

	_, err = storage.Add(m.Ctx, m.DB, "disk/0", "any", want{Pool: "big10", Count: 1})
	m.OK(err)
	m.OK(pools.Update(m.Ctx, "big10", map[string]string{"dir": "/new"}))
	m.NoCommit(func() error { return pools.Update(m.Ctx, "big10", map[string]string{"dir": "/new"}) })
	_, err = storage.Add(m.Ctx, m.DB, "disk/0", "any", want{Pool: "big10", Count: 1})
	m.OK(err)
	for id, dir := range map[string]string{"any/0": "/big", "any/1": "/new"} {
		modeltest.Same(t, "the pool of "+id, modeltest.Get[modeldb.Storage](m, id).Pool.Attributes["dir"], dir)
	}
	m.Refused(pools.Remove(m.Ctx, "big10"), entity.InUse, `storage pool "big10" in use`)
	m.Refused(pools.Remove(m.Ctx, "big10"), entity.InUse, "Storage any/0 comes from it.")
	m.Refused(pools.Remove(m.Ctx, "fast"), entity.InUse, `The units of service "disk" get storage "cache" from it.`)
	m.Set(modeldb.ServicesC, "disk", bson.DocElem{Name: "stores", Value: map[string]want{"any": {Pool: "big10"}}})
	m.OK(pools.Remove(m.Ctx, "fast"))
	m.OK(pools.Remove(m.Ctx, "big9"))
	modeltest.Same(t, "the users' pools", m.IDsIn(modeldb.PoolsC), []string{"big10"})

	m.Put(modeldb.Pool{Name: "broken", Provider: "ebs"}) // as an upgrade of the controller may leave it
	m.Refused(pools.Update(m.Ctx, "broken", map[string]string{"dir": "/x"}), entity.NotFound, `storage provider "ebs" not found`)
	m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying)
	m.Refused(pools.Create(m.Ctx, fast.Pool()), entity.NotAlive, "is no longer alive")
	m.Refused(pools.Create(m.Ctx, entity.StoragePool{Name: "1"}), entity.NotAlive, "is no longer alive")
	m.OK(pools.Remove(m.Ctx, "broken"))
}

// begins begins the import of filesystem fs from pool fast, and returns the storage's id.
func begins(m *modeltest.Model) string {
	id, _, err := storage.PoolsOf(m.DB).BeginImport(m.Ctx, "fast", "fs", "cache")
	m.OK(err)
	return id
}

// A filesystem that a model has released becomes storage that no unit has, and that units can have.
func TestImport(t *testing.T) {
	t.Parallel()
	m := newDisks(t)
	pools := storage.PoolsOf(m.DB)
	id, pool, err := pools.BeginImport(m.Ctx, "fast", "fs", "cache")
	m.OK(err)
	modeltest.Same(t, "the id", id, "cache/0")
	modeltest.Same(t, "the pool", pool, fast.Pool())
	modeltest.Same(t, "the imports", modeltest.All[modeldb.Import](m), []modeldb.Import{{ID: "fs", Storage: "cache/0", Pool: "fast", Began: m.Time.Local()}})
	m.Time = m.Time.Add(time.Minute)
	m.OK(pools.Import(m.Ctx, id, "fast", entity.Filesystem{ID: "fs", Size: 7}))
	s := modeltest.Get[modeldb.Storage](m, id)
	if !s.Born.Equal(m.Time) || !s.Since.Equal(m.Time) {
		t.Errorf("%+v is not of %v", s, m.Time)
	}
	s.Living, s.Birth = modeldb.Living{}, modeldb.Birth{}
	modeltest.Same(t, "the storage", s, modeldb.Storage{ID: id, Pool: fast.Pool(), Size: 7, Filesystem: "fs", Made: 7})
	modeltest.Same(t, "the imports", m.IDsIn(modeldb.ImportsC), []string{})
	modeltest.Same(t, "the model's imports", modeltest.Get[modeldb.Model](m, modeldb.ModelC).Imports, 1)
	modeltest.Same(t, "the pool's grants", modeltest.Get[modeldb.Pool](m, "fast").Grants, 5)
	m.OK(storage.Attach(m.Ctx, m.DB, "disk/0", id))
	m.OK(pools.Import(m.Ctx, "data/7", "dummy", entity.Filesystem{ID: "more", Size: 8})) // whose record is lost
	modeltest.Same(t, "the model's imports", modeltest.Get[modeldb.Model](m, modeldb.ModelC).Imports, 2)
}

// What is not free, or can't be recorded, is not imported, neither in the beginning nor when the cloud has done it.
func TestImportIsRefused(t *testing.T) {
	m := newDisks(t, "cache/10")
	m.Put(modeldb.Leftover{ID: "1", Of: modeldb.StorageKey("cache/9"), Filesystem: "fs-left"}, modeldb.Leftover{ID: "2", Of: "m#1", Instance: "i-1"})
	pools := storage.PoolsOf(m.DB)
	for _, c := range []struct {
		pool, filesystem, store string
		kind                    entity.Kind
		want                    string
		later                   bool // is also refused then
	}{
		{"fast", "fs-cache/10", "cache", entity.InUse, `filesystem "fs-cache/10" is that of storage "cache/10"`, true},
		{"fast", "fs-cache/10", "cache", entity.InUse, "juju show-storage cache/10", true},
		{"fast", "fs-left", "cache", entity.InUse, `filesystem "fs-left" is still to be removed or released`, true},
		{"slow", "fs", "cache", entity.NotFound, `pool "slow" not found`, true},
		{"slow", "fs", "cache", entity.NotFound, "juju storage-pools", true},
		{"fast", "", "cache", entity.Invalid, "filesystem has no id", true},
		{"fast", strings.Repeat("x", 256), "cache", entity.Invalid, "instance id", true},
		{"fast", "fs", "cache/0", entity.Invalid, `storage name "cache/0" not valid`, false},
		{"fast", "fs", "", entity.Invalid, `storage name "" not valid`, false},
	} {
		_, _, err := pools.BeginImport(m.Ctx, c.pool, c.filesystem, c.store)
		m.Refused(err, c.kind, c.want)
		if c.later {
			m.Refused(pools.Import(m.Ctx, "cache/0", c.pool, entity.Filesystem{ID: c.filesystem}), c.kind, c.want)
		}
	}
	m.Refused(pools.Import(m.Ctx, "cache/10", "fast", entity.Filesystem{ID: "fs"}), entity.AlreadyExists, `storage "cache/10" already exists`)
	m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying)
	_, _, err := pools.BeginImport(m.Ctx, "fast", "fs", "cache")
	m.Refused(err, entity.NotAlive, "is no longer alive")
	m.Refused(pools.Import(m.Ctx, "cache/0", "fast", entity.Filesystem{ID: "fs"}), entity.NotAlive, "is no longer alive")
	modeltest.Same(t, "the storage", m.IDsIn(modeldb.StorageC), []string{"cache/10"})
	modeltest.Same(t, "the imports", m.IDsIn(modeldb.ImportsC), []string{})
}

// An import that was cut off is repeated under another id, and ends with any of them, or with no storage if the cloud refused it.
func TestImportThatIsCutOff(t *testing.T) {
	t.Parallel()
	m := newDisks(t)
	pools := storage.PoolsOf(m.DB)
	first, second := begins(m), begins(m)
	modeltest.Same(t, "the ids", []string{first, second}, []string{"cache/0", "cache/1"})
	modeltest.Same(t, "the import", modeltest.Get[modeldb.Import](m, "fs").Storage, "cache/0")
	m.NoCommit(func() error { return pools.EndImport(m.Ctx, "fs", second) })
	m.NoCommit(func() error { return pools.EndImport(m.Ctx, "other", "") })
	m.OK(pools.EndImport(m.Ctx, "fs", first))
	modeltest.Same(t, "the imports", m.IDsIn(modeldb.ImportsC), []string{})
	begins(m)
	m.OK(pools.EndImport(m.Ctx, "fs", ""))
	modeltest.Same(t, "the imports", m.IDsIn(modeldb.ImportsC), []string{})
	begins(m)
	m.OK(pools.Import(m.Ctx, begins(m), "fast", entity.Filesystem{ID: "fs", Size: 7}))
	modeltest.Same(t, "the imports", m.IDsIn(modeldb.ImportsC), []string{})
}

// Another client creates, changes, uses or removes the same meanwhile, or the model ends.
func TestPoolsThatChangeMeanwhile(t *testing.T) {
	ends := func(m *modeltest.Model) { m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying) }
	gone := func(m *modeltest.Model) { m.Remove(modeldb.PoolsC, "free") }
	imported := func(m *modeltest.Model) {
		m.Put(modeldb.Storage{ID: "cache/5", Filesystem: "fs"})
		m.Set(modeldb.ModelC, modeldb.ModelC, bson.DocElem{Name: "imports", Value: 1})
	}
	create := func(m *modeltest.Model, p storage.Pools) error {
		return p.Create(m.Ctx, entity.StoragePool{Name: "new", Provider: "dummy"})
	}
	remove := func(m *modeltest.Model, p storage.Pools) error { return p.Remove(m.Ctx, "free") }
	begin := func(m *modeltest.Model, p storage.Pools) error {
		_, _, err := p.BeginImport(m.Ctx, "free", "fs", "cache")
		return err
	}
	importIt := func(m *modeltest.Model, p storage.Pools) error {
		return p.Import(m.Ctx, "cache/9", "free", entity.Filesystem{ID: "fs", Size: 7})
	}
	for name, c := range map[string]struct {
		call   func(*modeltest.Model, storage.Pools) error
		change func(*modeltest.Model)
		kind   entity.Kind
		want   string
	}{
		"created: the model ends": {create, ends, entity.NotAlive, "is no longer alive"},
		"created: another has": {create, func(m *modeltest.Model) { m.Put(modeldb.Pool{Name: "new"}) }, entity.AlreadyExists,
			`storage pool "new" already exists`},
		"changed: it is removed": {func(m *modeltest.Model, p storage.Pools) error {
			return p.Update(m.Ctx, "free", map[string]string{"a": "b"})
		},
			gone, entity.NotFound, `storage pool "free" not found`},
		"removed: another has": {remove, gone, entity.NotFound, `storage pool "free" not found`},
		"removed: it is used": {remove, func(m *modeltest.Model) {
			_, err := storage.Add(m.Ctx, m.DB, "disk/0", "any", want{Pool: "free", Count: 1})
			m.OK(err)
		}, entity.InUse, "Storage any/0 comes from it."},
		"begun: the model ends": {begin, ends, entity.NotAlive, "is no longer alive"},
		"begun: by another too": {begin, func(m *modeltest.Model) { m.Put(modeldb.Import{ID: "fs", Storage: "cache/5"}) }, "", "cache/5"},
		"given up: by another, and begun anew": {func(m *modeltest.Model, p storage.Pools) error { return p.EndImport(m.Ctx, "old", "cache/4") },
			func(m *modeltest.Model) { m.Put(modeldb.Import{ID: "old", Storage: "cache/6"}) }, "", "cache/6"},
		"imported: the model ends": {importIt, ends, entity.NotAlive, "is no longer alive"},
		"imported: by another":     {importIt, imported, entity.InUse, `filesystem "fs" is that of storage "cache/5"`},
		"imported: by another, as the second": {importIt, func(m *modeltest.Model) {
			imported(m)
			m.Set(modeldb.ModelC, modeldb.ModelC, bson.DocElem{Name: "imports", Value: 2})
		}, entity.InUse, `filesystem "fs" is that of storage "cache/5"`},
		"imported: the pool is removed": {importIt, gone, entity.NotFound, `pool "free" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t)
			m.Put(modeldb.Pool{Name: "free", Provider: "dummy"}, modeldb.Import{ID: "old", Storage: "cache/4"})
			if strings.HasSuffix(name, "second") {
				m.Set(modeldb.ModelC, modeldb.ModelC, bson.DocElem{Name: "imports", Value: 1})
			}
			err := m.Race(func() { c.change(m) }, func() error { return c.call(m, storage.PoolsOf(m.DB)) })
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				return
			}
			m.OK(err)
			var left []string
			for _, i := range modeltest.All[modeldb.Import](m) {
				left = append(left, i.Storage)
			}
			if !strings.Contains(strings.Join(left, " "), c.want) {
				t.Errorf("the imports are of %v, want %s", left, c.want)
			}
		})
	}
}
