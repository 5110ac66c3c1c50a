package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/storage"
)

const (
	diskURL = "local:jammy/disk-1"
	disk    = `{name: disk, summary: s, description: d, storage: {
  data: {type: filesystem, location: /srv/data/}, cache: {type: filesystem, multiple: {range: 0-3}, location: /srv/cache},
  pair: {type: filesystem, multiple: {range: 2-4}, minimum-size: 2G}, any: {type: filesystem, multiple: {range: 0+}},
  one: {type: filesystem, multiple: {range: 1-2}}, raw: {type: block, multiple: {range: 0-1}}}}`
	slim = `{name: disk, summary: s, description: d, storage: {data: {type: filesystem}}}`
)

var fast = modeldb.Pool{Name: "fast", Provider: "dummy", Attributes: map[string]string{"dir": "/fast"}, Grants: 4}

// newDisks returns a model with the service disk, its units disk/0 on machine 0 and disk/1 on machine 1, the subordinate log/0 of
// disk/0, whose charm has the same stores, the pool fast, and storage as in "cache/10 on disk/0", which can be "dying" or "dead"
// there, or "cache/11", which no unit has.
func newDisks(t *testing.T, has ...string) *modeltest.Model {
	t.Helper()
	m := modeltest.New(t, modeldb.Service{Name: "disk", Series: "jammy", CharmURL: diskURL, Stores: map[string]entity.StorageConstraints{
		"cache": {Pool: "fast", Size: 7, Count: 1}, "any": {Pool: "dummy", Size: 8}, "pair": {Pool: "dummy", Size: 4096, Count: 2},
		"data": {Pool: "dummy", Size: 1024, Count: 1}, "one": {Pool: "dummy", Size: 1024, Count: 1}}},
		modeldb.Service{Name: "log", Series: "jammy", CharmURL: diskURL, Subordinate: true},
		modeldb.Unit{Name: "disk/0", Service: "disk", Machine: "0"}, modeldb.Unit{Name: "disk/1", Service: "disk", Machine: "1"},
		modeldb.Unit{Name: "log/0", Service: "log", Principal: "disk/0"}, fast,
		modeldb.Machine{ID: "0", InstanceID: "i-0"}, modeldb.Machine{ID: "1", InstanceID: "i-1"})
	m.PutCharm(diskURL, disk)
	m.PutCharm("local:jammy/disk-0", slim)
	counts := map[string]int{"disk/0": 0, "disk/1": 0, "log/0": 0}
	for _, one := range has {
		words := strings.Fields(one)
		s := modeldb.Storage{ID: words[0], Pool: entity.StoragePool{Name: "dummy", Provider: "dummy"}, Size: 1024, Filesystem: "fs-" + words[0]}
		attached := 0
		if len(words) > 2 {
			unit := words[2]
			a := modeldb.Attachment{ID: modeldb.AttachmentID(unit, s.ID), Unit: unit, Storage: s.ID, Machine: unit[len(unit)-1:],
				Subordinate: unit == "log/0", Mount: "/" + s.ID}
			if len(words) > 3 {
				a.Life = map[string]entity.Life{"dying": entity.Dying, "dead": entity.Dead}[words[3]]
			}
			attached = 1
			counts[unit]++
			m.Put(a)
		}
		m.Put(s, modeltest.Counts{Key: modeldb.StorageKey(s.ID), Of: map[string]int{"attachments": attached}})
	}
	for unit, n := range counts {
		m.Put(modeltest.Counts{Key: modeldb.UnitKey(unit), Of: map[string]int{"attachments": n, "subordinates": 0}})
	}
	for _, id := range []string{"0", "1"} {
		m.Put(modeltest.Counts{Key: modeldb.MachineKey(id), Of: map[string]int{"storage": 0}})
	}
	return m
}

// split returns what is listed, as newDisks takes it.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// gives attaches storage, which is there, to a unit, as another client may.
func gives(m *modeltest.Model, unit, id string) {
	m.Put(modeldb.Attachment{ID: modeldb.AttachmentID(unit, id), Unit: unit, Storage: id, Machine: unit[len(unit)-1:], Mount: "/x"},
		modeltest.Counts{Key: modeldb.StorageKey(id), Of: map[string]int{"attachments": 1}},
		modeltest.Counts{Key: modeldb.UnitKey(unit), Of: map[string]int{"attachments": m.CountOf(modeldb.UnitKey(unit), "attachments") + 1}})
}

// shown returns the storage and where it is: "cache/0 7 from fast on disk/0 at /srv/cache/cache/0".
func shown(m *modeltest.Model) string {
	at := map[string]modeldb.Attachment{}
	for _, a := range modeltest.All[modeldb.Attachment](m) {
		at[a.Storage] = a
	}
	var all []string
	for _, s := range modeltest.All[modeldb.Storage](m) {
		one := fmt.Sprintf("%s %d from %s", s.ID, s.Size, s.Pool.Name)
		if s.Machine != "" {
			one += " of machine " + s.Machine
		}
		if a, ok := at[s.ID]; ok {
			one += fmt.Sprintf(" on %s at %s", a.Unit, a.Mount)
		}
		all = append(all, one)
	}
	return strings.Join(all, "; ")
}

type want = entity.StorageConstraints

// A unit gets more storage as its charm says, and in what else as the service's units get it, or as is asked.
func TestAdd(t *testing.T) {
	for _, c := range []struct {
		name, unit, store string
		c                 want
		want              string // of the storage, or of the error
		kind              entity.Kind
	}{
		{"as the service's units", "disk/0", "cache", want{Count: 2},
			"cache/0 7 from fast on disk/0 at /srv/cache/cache/0; cache/1 7 from fast on disk/0 at /srv/cache/cache/1", ""},
		{"as is asked", "disk/1", "cache", want{Pool: "dummy", Size: 9, Count: 1}, "cache/0 9 from dummy on disk/1 at /srv/cache/cache/0", ""},
		{"as the charm says", "log/0", "pair", want{Count: 2}, "pair/0 2048 from dummy on log/0 at /var/lib/juju/storage/pair/0; " +
			"pair/1 2048 from dummy on log/0 at /var/lib/juju/storage/pair/1", ""},
		{"the only one", "disk/0", "data", want{Count: 1}, "data/0 1024 from dummy on disk/0 at /srv/data", ""},
		{"on the machine's disk", "disk/1", "any", want{Pool: "rootfs", Count: 1},
			"any/0 8 from rootfs of machine 1 on disk/1 at /var/lib/juju/storage/any/0", ""},
		{"on the disk of the principal's", "log/0", "any", want{Pool: "rootfs", Count: 1},
			"any/0 1024 from rootfs of machine 0 on log/0 at /var/lib/juju/storage/any/0", ""},
		{"none", "disk/0", "cache", want{}, "", ""},
		{"of a store that the charm has not", "disk/0", "more", want{Count: 1}, `adding "more" storage to unit disk/0: charm "disk" has no store called "more"`, entity.Invalid},
		{"too small", "disk/0", "pair", want{Size: 1024, Count: 2}, "minimum storage size is 2.0GiB, 1.0GiB specified", entity.Invalid},
		{"from no pool", "disk/0", "cache", want{Pool: "slow", Count: 1}, `charm "disk" store "cache": pool "slow" not found`, entity.NotFound},
		{"too many", "disk/0", "cache", want{Count: 4}, "attaching 4 storage instances brings the total to 4, exceeding the maximum of 3", entity.Invalid},
		{"very many", "disk/0", "any", want{Count: 1 << 40}, "1048576 instances", entity.Invalid},
		{"a device", "disk/0", "raw", want{Count: 1}, "has no block storage", entity.Invalid},
		{"of no unit", "disk/7", "cache", want{Count: 1}, `unit "disk/7" not found`, entity.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t)
			ids, err := storage.Add(m.Ctx, m.DB, c.unit, c.store, c.c)
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				modeltest.Same(t, "the storage", shown(m), "")
				return
			}
			m.OK(err)
			modeltest.Same(t, "the storage", shown(m), c.want)
			modeltest.Same(t, "the ids", ids, m.IDsIn(modeldb.StorageC))
			modeltest.Same(t, "the unit's attachments", m.CountOf(modeldb.UnitKey(c.unit), "attachments"), len(ids))
		})
	}
}

// All of what is added is as old as the transaction, refers to what it needs, and counts there. The pool is used once.
func TestAddedStorage(t *testing.T) {
	t.Parallel()
	m := newDisks(t)
	_, err := storage.Add(m.Ctx, m.DB, "disk/0", "cache", want{Count: 2})
	m.OK(err)
	_, err = storage.Add(m.Ctx, m.DB, "log/0", "any", want{Pool: "rootfs", Count: 1})
	m.OK(err)
	s, a := modeltest.Get[modeldb.Storage](m, "any/2"), modeltest.Get[modeldb.Attachment](m, modeldb.AttachmentID("log/0", "any/2"))
	if !s.Born.Equal(m.Time) || !s.Since.Equal(m.Time) || !a.Born.Equal(m.Time) || !a.Since.Equal(m.Time) {
		t.Errorf("storage %+v and attachment %+v are not of %v", s, a, m.Time)
	}
	modeltest.Same(t, "the attachment is a subordinate's", a.Subordinate, true)
	modeltest.Same(t, "the attachment's machine", a.Machine, "0")
	a = modeltest.Get[modeldb.Attachment](m, modeldb.AttachmentID("disk/0", "cache/0"))
	modeltest.Same(t, "the attachment is a subordinate's", a.Subordinate, false)
	modeltest.Same(t, "the storage's attachments", m.CountOf(modeldb.StorageKey("any/2"), "attachments"), 1)
	modeltest.Same(t, "the machine's storage", m.CountOf(modeldb.MachineKey("0"), "storage"), 1)
	modeltest.Same(t, "the pool's grants", modeltest.Get[modeldb.Pool](m, "fast").Grants, 5)
	modeltest.Same(t, "the pool", modeltest.Get[modeldb.Storage](m, "cache/1").Pool, fast.Pool())
}

// Storage that no unit has goes to one whose charm can have it.
func TestAttach(t *testing.T) {
	for _, c := range []struct {
		name, unit, id string
		before         func(m *modeltest.Model)
		kind           entity.Kind
		want           string
	}{
		{"several", "disk/0", "cache/10", nil, "", "/srv/cache/cache/10"},
		{"the only one", "disk/1", "data/20", nil, "", "/srv/data"},
		{"a subordinate's", "log/0", "cache/10", nil, "", "/srv/cache/cache/10"},
		{"its machine's", "disk/0", "cache/10", func(m *modeltest.Model) {
			m.Set(modeldb.StorageC, "cache/10", bson.DocElem{Name: "machine", Value: "0"})
		}, "", "/srv/cache/cache/10"},
		{"another machine's", "disk/1", "cache/10", func(m *modeltest.Model) {
			m.Set(modeldb.StorageC, "cache/10", bson.DocElem{Name: "machine", Value: "0"})
		}, entity.Invalid, `cannot attach storage cache/10 to unit disk/1: storage "cache/10" is on the disk of machine 0`},
		{"another's", "disk/1", "cache/11", nil, entity.InUse, `storage "cache/11" is attached to unit "disk/0"`},
		{"what another must detach first", "disk/1", "cache/11", nil, entity.InUse, `Detach it first: juju detach-storage cache/11`},
		{"the unit's that it gives up", "disk/0", "cache/12", nil, entity.InUse, `is attached to unit "disk/0"`},
		{"of no store", "disk/0", "more/0", func(m *modeltest.Model) { m.Put(modeldb.Storage{ID: "more/0"}) }, entity.Invalid,
			`charm "disk" has no store called "more"`},
		{"for a device", "disk/0", "raw/0", func(m *modeltest.Model) { m.Put(modeldb.Storage{ID: "raw/0"}) }, entity.Invalid,
			`cannot attach filesystem storage "raw/0" as block storage`},
		{"a second only one", "disk/0", "data/20", nil, entity.Invalid, `charm "disk" store "data": cannot attach, storage is singular`},
		{"what ends", "disk/0", "cache/10", func(m *modeltest.Model) { m.Kill(modeldb.StorageC, "cache/10", entity.Dying) }, entity.NotAlive,
			`storage "cache/10" is not alive`},
		{"to a unit that ends", "disk/0", "cache/10", func(m *modeltest.Model) { m.Kill(modeldb.UnitsC, "disk/0", entity.Dying) }, entity.NotAlive,
			`unit "disk/0" is not alive`},
		{"of a model that ends", "disk/0", "cache/10", func(m *modeltest.Model) { m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying) }, entity.NotAlive,
			"is no longer alive"},
		{"what is not there", "disk/0", "cache/77", nil, entity.NotFound, `storage "cache/77" not found`},
		{"without the principal", "log/0", "cache/10", func(m *modeltest.Model) { m.Remove(modeldb.UnitsC, "disk/0") }, entity.NotFound,
			`unit "disk/0" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, "cache/10", "cache/11 on disk/0", "cache/12 on disk/0 dying", "data/20", "data/21 on disk/0")
			if c.before != nil {
				c.before(m)
			}
			err := storage.Attach(m.Ctx, m.DB, c.unit, c.id)
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				return
			}
			m.OK(err)
			modeltest.Same(t, "it is at", modeltest.Get[modeldb.Attachment](m, modeldb.AttachmentID(c.unit, c.id)).Mount, c.want)
			m.NoCommit(func() error { return storage.Attach(m.Ctx, m.DB, c.unit, c.id) })
		})
	}
}

// newGrant returns a grant to a unit.
func newGrant(m *modeltest.Model, o *modeltxn.Ops, unit string, n *storage.Numbers) storage.Grant {
	u := modeltest.Get[modeldb.Unit](m, unit)
	g := storage.Grant{DB: m.DB, Numbers: n, Used: storage.Used{}, Born: modeldb.Living{Since: m.DB.Now()}, Unit: u}
	m.OK(g.Read(m.Ctx, o))
	return g
}

// The charm allows some numbers of instances, before and after which a unit's storage is not attached or detached.
func TestCheckChange(t *testing.T) {
	for _, c := range []struct {
		has   string
		store string
		n     int
		want  string // the error after `charm "disk" store "…": `
	}{
		{"", "data", 1, ""},
		{"data/0 on disk/0", "data", 1, "cannot attach, storage is singular"},
		{"data/0 on disk/0", "data", -1, "cannot detach, storage is singular"},
		{"data/0 on disk/0 dying", "data", 1, ""},
		{"data/0 on disk/1", "data", 1, ""},
		{"cache/0 on disk/0", "data", 1, ""},
		{"", "one", 1, ""},
		{"", "one", 2, ""},
		{"", "one", 3, "attaching 3 storage instances brings the total to 3, exceeding the maximum of 2"},
		{"one/0 on disk/0", "one", 2, "attaching 2 storage instances brings the total to 3, exceeding the maximum of 2"},
		{"one/0 on disk/0, one/1 on disk/0", "one", 1, "attaching 1 storage instance brings the total to 3, exceeding the maximum of 2"},
		{"one/0 on disk/0, one/1 on disk/0", "one", -1, ""},
		{"one/0 on disk/0", "one", -1, "detaching 1 storage instance brings the total to 0, which is less than the minimum of 1"},
		{"pair/0 on disk/0, pair/1 on disk/0, pair/2 on disk/0", "pair", -1, ""},
		{"pair/0 on disk/0, pair/1 on disk/0, pair/2 on disk/0", "pair", -2,
			"detaching 2 storage instances brings the total to 1, which is less than the minimum of 2"},
		{"pair/0 on disk/0, pair/1 on disk/0, pair/2 on disk/0 dead", "pair", -1,
			"detaching 1 storage instance brings the total to 1, which is less than the minimum of 2"},
		{"any/0 on disk/0", "any", -1, ""},
		{"any/0 on disk/0", "any", 99, ""},
		{"cache/0 on disk/0 dying", "any", 99, ""},
	} {
		t.Run(fmt.Sprintf("%d %s for %s", c.n, c.store, c.has), func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, split(c.has)...)
			err := m.Change(m.Ctx, func(o *modeltxn.Ops) error {
				return newGrant(m, o, "disk/0", &storage.Numbers{}).CheckChange(m.Ctx, o, c.store, c.n)
			})
			if c.want == "" {
				m.OK(err)
			} else {
				m.Refused(err, entity.Invalid, fmt.Sprintf("charm %q store %q: %s", "disk", c.store, c.want))
			}
		})
	}
	t.Run("of all stores", func(t *testing.T) {
		m := newDisks(t, "cache/0 on disk/0 dying")
		m.Refused(m.Change(m.Ctx, func(o *modeltxn.Ops) error {
			return newGrant(m, o, "disk/0", &storage.Numbers{}).CheckChange(m.Ctx, o, "any", 100)
		}), entity.Invalid, "storage instances of a unit: 101 instances")
		m.Refused(m.Change(m.Ctx, func(o *modeltxn.Ops) error {
			return newGrant(m, o, "disk/0", &storage.Numbers{}).CheckChange(m.Ctx, o, "more", 1)
		}), entity.Invalid, `charm "disk" has no store called "more"`)
	})
}

// Whatever a unit's storage was found to be allowed by, another client may change before it is attached, added or detached.
func TestGrantsThatChangeMeanwhile(t *testing.T) {
	attach := func(m *modeltest.Model) error { return storage.Attach(m.Ctx, m.DB, "disk/0", "cache/10") }
	add := func(m *modeltest.Model) error {
		_, err := storage.Add(m.Ctx, m.DB, "disk/0", "cache", want{Count: 1})
		return err
	}
	detach := func(m *modeltest.Model) error {
		return m.Change(m.Ctx, func(o *modeltxn.Ops) error {
			return newGrant(m, o, "disk/0", &storage.Numbers{}).CheckChange(m.Ctx, o, "one", -1)
		})
	}
	dies := func(collection, id string) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Kill(collection, id, entity.Dying) }
	}
	charm := func(m *modeltest.Model) {
		m.Set(modeldb.ServicesC, "disk", bson.DocElem{Name: "charm", Value: "local:jammy/disk-0"})
	}
	for name, c := range map[string]struct {
		call   func(*modeltest.Model) error
		change func(*modeltest.Model)
		kind   entity.Kind
		want   string
	}{
		"attached: another unit has it": {attach, func(m *modeltest.Model) {
			m.Put(modeldb.Attachment{ID: modeldb.AttachmentID("disk/1", "cache/10"), Unit: "disk/1", Storage: "cache/10", Machine: "1"},
				modeltest.Counts{Key: modeldb.StorageKey("cache/10"), Of: map[string]int{"attachments": 1}})
		}, entity.InUse, `is attached to unit "disk/1"`},
		"attached: the unit has it":    {attach, func(m *modeltest.Model) { gives(m, "disk/0", "cache/10") }, "", ""},
		"attached: it ends":            {attach, dies(modeldb.StorageC, "cache/10"), entity.NotAlive, `storage "cache/10" is not alive`},
		"attached: the unit ends":      {attach, dies(modeldb.UnitsC, "disk/0"), entity.NotAlive, `unit "disk/0" is not alive`},
		"attached: the model ends":     {attach, dies(modeldb.ModelC, modeldb.ModelC), entity.NotAlive, "no longer alive"},
		"attached: the charm is slim":  {attach, charm, entity.Invalid, `no store called "cache"`},
		"attached: the unit has three": {attach, func(m *modeltest.Model) { gives(m, "disk/0", "cache/13") }, entity.Invalid, "exceeding the maximum of 3"},
		"attached: the unit has three, and has given up another": {attach, func(m *modeltest.Model) {
			m.Remove(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "one/30"))
			has := m.CountOf(modeldb.UnitKey("disk/0"), "attachments")
			gives(m, "disk/0", "cache/13")
			m.Put(modeltest.Counts{Key: modeldb.UnitKey("disk/0"), Of: map[string]int{"attachments": has}})
		}, entity.Invalid, "exceeding the maximum of 3"},
		"added: the unit has three": {add, func(m *modeltest.Model) { gives(m, "disk/0", "cache/13") }, entity.Invalid, "exceeding the maximum of 3"},
		"added: the unit ends":      {add, dies(modeldb.UnitsC, "disk/0"), entity.NotAlive, `unit "disk/0" is not alive`},
		"added: the model ends":     {add, dies(modeldb.ModelC, modeldb.ModelC), entity.NotAlive, "no longer alive"},
		"added: the charm is slim":  {add, charm, entity.Invalid, `no store called "cache"`},
		"added: a slim charm is rolled out": {add, func(m *modeltest.Model) {
			m.Set(modeldb.ServicesC, "disk", bson.DocElem{Name: "rollout", Value: modeldb.Rollout{ID: "1", Former: "local:jammy/disk-0"}})
		}, entity.Invalid, `no store called "cache"`},
		"added: the pool goes": {add, func(m *modeltest.Model) { m.Remove(modeldb.PoolsC, "fast") }, entity.NotFound, `pool "fast" not found`},
		"detached: another goes first": {detach, func(m *modeltest.Model) {
			m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "one/31"), entity.Dying)
		}, entity.Invalid, "less than the minimum of 1"},
		"detached: the first is gone": {detach, func(m *modeltest.Model) {
			m.Remove(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "one/31"))
		}, entity.Invalid, "less than the minimum of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, "cache/10", "cache/11 on disk/0", "cache/12 on disk/0", "cache/13", "one/30 on disk/0", "one/31 on disk/0")
			err := m.Race(func() { c.change(m) }, func() error { return c.call(m) })
			if c.kind == "" {
				m.OK(err)
			} else {
				m.Refused(err, c.kind, c.want)
			}
		})
	}
}

// Storage that a unit is giving up, and that other units have, is no business of one that detaches.
func TestDetachingIsNotDisturbed(t *testing.T) {
	t.Parallel()
	m := newDisks(t, "one/30 on disk/0", "one/31 on disk/0", "one/32 on disk/0 dying", "one/33 on disk/1")
	m.Ignores(func() {
		m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "one/32"), entity.Dead)
		m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID("disk/1", "one/33"), entity.Dying)
	}, func() error {
		return m.Change(m.Ctx, func(o *modeltxn.Ops) error {
			return newGrant(m, o, "disk/0", &storage.Numbers{}).CheckChange(m.Ctx, o, "one", -1)
		})
	})
}

// When a transaction is tried again, what it adds keeps its numbers, and gets more only if there are more.
func TestNumbers(t *testing.T) {
	t.Parallel()
	m := newDisks(t, "any/90")
	ids := []string{}
	m.OK(m.Race(func() { gives(m, "disk/0", "any/90") }, func() (err error) {
		ids, err = storage.Add(m.Ctx, m.DB, "disk/0", "cache", want{Count: 2})
		return err
	}))
	modeltest.Same(t, "the ids", ids, []string{"cache/0", "cache/1"})

	n := &storage.Numbers{}
	again := errors.New("tried again")
	adds := func(reserve, count int, want ...string) {
		t.Helper()
		err := m.Change(m.Ctx, func(o *modeltxn.Ops) error {
			g := newGrant(m, o, "disk/1", &storage.Numbers{})
			g.Numbers = n
			m.OK(n.Reserve(m.Ctx, m.DB, reserve))
			m.OK(g.New(m.Ctx, o, map[string]entity.StorageConstraints{"any": {Pool: "dummy", Count: uint64(count)}}, nil))
			ops, err := o.List()
			m.OK(err)
			var got []string
			for _, op := range ops {
				if op.C == modeldb.StorageC {
					got = append(got, op.Id.(string))
				}
			}
			modeltest.Same(t, "the ids", got, want)
			return again
		})
		if err != again {
			t.Error(err)
		}
	}
	adds(3, 3, "any/2", "any/3", "any/4")
	adds(3, 3, "any/2", "any/3", "any/4")
	adds(4, 4, "any/2", "any/3", "any/4", "any/5")
	adds(2, 5, "any/2", "any/3", "any/4", "any/5", "any/6") // one more than were reserved
	adds(0, 1, "any/2")
	first, err := m.Next(m.Ctx, modeldb.StorageSequence, 1)
	m.OK(err)
	modeltest.Same(t, "the next number", first, 7)
}

// A new unit gets the storage that it is to have from others, and new storage for the rest.
func TestNewUnit(t *testing.T) {
	cache := func(n uint64) map[string]entity.StorageConstraints {
		return map[string]entity.StorageConstraints{"cache": {Pool: "fast", Size: 7, Count: n}, "any": {Pool: "fast", Size: 8, Count: 1}}
	}
	const any0 = "any/0 8 from fast on disk/0 at /var/lib/juju/storage/any/0; "
	for _, c := range []struct {
		name   string
		stores map[string]entity.StorageConstraints
		attach string
		want   string
		kind   entity.Kind
	}{
		{"nothing", nil, "", "", ""},
		{"new", cache(1), "", any0 + "cache/1 7 from fast on disk/0 at /srv/cache/cache/1", ""},
		{"from others", cache(2), "cache/10", any0 + "cache/1 7 from fast on disk/0 at /srv/cache/cache/1; " +
			"cache/10 1024 from dummy on disk/0 at /srv/cache/cache/10", ""},
		{"all from others", cache(1), "cache/10", any0 + "cache/10 1024 from dummy on disk/0 at /srv/cache/cache/10", ""},
		{"more from others", cache(0), "cache/10 cache/11", any0 + "cache/10 1024 from dummy on disk/0 at /srv/cache/cache/10; " +
			"cache/11 1024 from dummy on disk/0 at /srv/cache/cache/11", ""},
		{"too many from others", cache(1), "cache/10 cache/11 cache/12 cache/13",
			`charm "disk" store "cache": at most 3 instances supported, 4 specified`, entity.Invalid},
		{"two only ones", cache(1), "data/20 data/21", `charm "disk" store "data": storage is singular, 2 specified`, entity.Invalid},
		{"another's", cache(1), "data/22", `storage "data/22" is attached to unit "disk/1"`, entity.InUse},
		{"none", cache(1), "data/77", `storage "data/77" not found`, entity.NotFound},
		{"from no pool", map[string]entity.StorageConstraints{"any": {Pool: "slow", Count: 1}}, "", `charm "disk" store "any": pool "slow" not found`, entity.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, "cache/10", "cache/11", "cache/12", "cache/13", "data/20", "data/21", "data/22 on disk/1")
			err := m.Change(m.Ctx, func(o *modeltxn.Ops) error {
				return newGrant(m, o, "disk/0", &storage.Numbers{}).New(m.Ctx, o, c.stores, strings.Fields(c.attach))
			})
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				return
			}
			m.OK(err)
			var got []string
			for _, one := range strings.Split(shown(m), "; ") {
				if strings.Contains(one, " on disk/0") {
					got = append(got, one)
				}
			}
			modeltest.Same(t, "the unit's storage", strings.Join(got, "; "), c.want)
			grants := 4
			if len(c.stores) > 0 {
				grants++ // however often the transaction uses the pool
			}
			modeltest.Same(t, "the pool's grants", modeltest.Get[modeldb.Pool](m, "fast").Grants, grants)
		})
	}
}

// While a charm is rolled out, units get storage only of stores that both charms have.
func TestStoresOfARollout(t *testing.T) {
	t.Parallel()
	m := newDisks(t)
	m.Set(modeldb.ServicesC, "disk", bson.DocElem{Name: "rollout", Value: modeldb.Rollout{ID: "1", Former: "local:jammy/disk-0"}})
	_, err := storage.Add(m.Ctx, m.DB, "disk/0", "cache", want{Count: 1})
	m.Refused(err, entity.Invalid, `charm "disk" has no store called "cache"`)
	_, err = storage.Add(m.Ctx, m.DB, "disk/0", "data", want{Count: 1})
	m.OK(err)
	modeltest.Same(t, "the storage", shown(m), "data/0 1024 from dummy on disk/0 at /srv/data")
	m.Unset(modeldb.ServicesC, "disk", "rollout")
	_, err = storage.Add(m.Ctx, m.DB, "disk/0", "cache", want{Count: 1})
	m.OK(err)
	m.Remove(modeldb.CharmsC, "local:jammy/disk-0")
	m.Set(modeldb.ServicesC, "disk", bson.DocElem{Name: "rollout", Value: modeldb.Rollout{ID: "1", Former: "local:jammy/gone-0"}})
	_, err = storage.Add(m.Ctx, m.DB, "disk/0", "any", want{Count: 1})
	m.Refused(err, entity.NotFound, `charm "local:jammy/gone-0" not found`)
	m.Set(modeldb.ServicesC, "disk", bson.DocElem{Name: "charm", Value: "local:jammy/gone-1"})
	_, err = storage.Add(m.Ctx, m.DB, "disk/0", "any", want{Count: 1})
	m.Refused(err, entity.NotFound, `charm "local:jammy/gone-1" not found`)
}
