package storage_test

import (
	"errors"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/storage"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// at records where storage is attached.
func at(m *modeltest.Model, unit, id, location string) {
	m.Set(modeldb.AttachmentsC, modeldb.AttachmentID(unit, id), bson.DocElem{Name: "location", Value: location})
}

// There is something to do about storage that is to be made, attached, detached or ended, unless its unit comes first.
func TestWork(t *testing.T) {
	dummy := entity.StoragePool{Name: "dummy", Provider: "dummy"}
	on := func(unit string, life entity.Life, id, location string) *entity.AttachmentWork {
		return &entity.AttachmentWork{Unit: unit, Instance: "i-" + unit[len(unit)-1:], Life: life, Mount: "/" + id, Location: location}
	}
	kill := func(m *modeltest.Model, life entity.Life) { m.Kill(modeldb.StorageC, "any/1", life) }
	made := entity.StorageWork{ID: "any/1", Pool: dummy, Size: 1024, Filesystem: "fs-any/1"}
	with := func(change func(*entity.StorageWork)) []entity.StorageWork {
		w := made
		change(&w)
		return []entity.StorageWork{w}
	}
	for _, c := range []struct {
		name   string
		has    string
		before func(m *modeltest.Model)
		want   []entity.StorageWork
	}{
		{"make it", "any/1", func(m *modeltest.Model) { m.Unset(modeldb.StorageC, "any/1", "filesystem") },
			with(func(w *entity.StorageWork) { w.Filesystem = "" })},
		{"make it on the machine, and attach it", "any/1 on disk/0", func(m *modeltest.Model) {
			m.Unset(modeldb.StorageC, "any/1", "filesystem")
			m.Set(modeldb.StorageC, "any/1", bson.DocElem{Name: "machine", Value: "0"})
		}, with(func(w *entity.StorageWork) {
			w.Filesystem, w.OnMachine, w.Attachment = "", true, on("disk/0", entity.Alive, "any/1", "")
		})},
		{"it is made", "any/1", nil, nil},
		{"attach it", "any/1 on disk/1", nil, with(func(w *entity.StorageWork) { w.Attachment = on("disk/1", entity.Alive, "any/1", "") })},
		{"it is attached", "any/1 on disk/0", func(m *modeltest.Model) { at(m, "disk/0", "any/1", "/here") }, nil},
		{"the unit gives it up", "any/1 on disk/0 dying", nil, nil},
		{"detach it", "any/1 on disk/0 dead", func(m *modeltest.Model) { at(m, "disk/0", "any/1", "/here") },
			with(func(w *entity.StorageWork) { w.Attachment = on("disk/0", entity.Dead, "any/1", "/here") })},
		{"it ends when the unit has given it up", "any/1 on disk/0 dying", func(m *modeltest.Model) { kill(m, entity.Dying) }, nil},
		{"it ends when it is detached", "any/1 on disk/0 dead", func(m *modeltest.Model) { kill(m, entity.Dying) },
			with(func(w *entity.StorageWork) {
				w.Life, w.Attachment = entity.Dying, on("disk/0", entity.Dead, "any/1", "")
			})},
		{"end it", "any/1", func(m *modeltest.Model) { kill(m, entity.Dying) }, with(func(w *entity.StorageWork) { w.Life = entity.Dying })},
		{"it is being ended", "any/1", func(m *modeltest.Model) { kill(m, entity.Dead) }, with(func(w *entity.StorageWork) { w.Life = entity.Dead })},
		{"release it", "any/1", func(m *modeltest.Model) {
			kill(m, entity.Dying)
			m.Set(modeldb.StorageC, "any/1", bson.DocElem{Name: "release", Value: true})
		}, with(func(w *entity.StorageWork) { w.Life, w.Release = entity.Dying, true })},
		{"release it with the model", "any/1", func(m *modeltest.Model) {
			kill(m, entity.Dying)
			m.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying)
		}, with(func(w *entity.StorageWork) { w.Life, w.Release = entity.Dying, true })},
		{"the machine is gone", "any/1 on disk/0", func(m *modeltest.Model) { m.Remove(modeldb.MachinesC, "0") },
			with(func(w *entity.StorageWork) {
				w.Attachment = &entity.AttachmentWork{Unit: "disk/0", Life: entity.Alive, Mount: "/any/1"}
			})},
		{"what was left", "", func(m *modeltest.Model) {
			m.Put(modeldb.Leftover{ID: "1", Of: lifecycle.Key(lifecycle.Storage, "any/8"), Filesystem: "fs-8"},
				modeldb.Leftover{ID: "2", Of: lifecycle.Key(lifecycle.Storage, "any/9"), Filesystem: "fs-9", Release: true},
				modeldb.Leftover{ID: "3", Of: lifecycle.Key(lifecycle.Machine, "0"), Instance: "i-0"})
		}, []entity.StorageWork{{ID: "any/8", Life: entity.Gone, Filesystem: "fs-8"}, {ID: "any/9", Life: entity.Gone, Filesystem: "fs-9", Release: true}}},
		{"first what is around it", "any/1 on disk/0, any/2 on disk/0", func(m *modeltest.Model) {
			m.Set(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "any/2"), bson.DocElem{Name: "mount", Value: "/any/1/in"})
		}, []entity.StorageWork{
			{ID: "any/1", Pool: dummy, Size: 1024, Filesystem: "fs-any/1", Attachment: on("disk/0", entity.Alive, "any/1", "")},
			{ID: "any/2", Pool: dummy, Size: 1024, Filesystem: "fs-any/2", Attachment: &entity.AttachmentWork{Unit: "disk/0", Instance: "i-0",
				Mount: "/any/1/in", After: "any/1"}}}},
		{"another is there", "any/1 on disk/0, any/2 on disk/0, any/3 on disk/1", func(m *modeltest.Model) {
			m.Set(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "any/2"), bson.DocElem{Name: "mount", Value: "/any/1"})
			m.Set(modeldb.AttachmentsC, modeldb.AttachmentID("disk/1", "any/3"), bson.DocElem{Name: "mount", Value: "/any/1"})
			at(m, "disk/0", "any/2", "/here")
			at(m, "disk/1", "any/3", "/here") // of another machine
		}, with(func(w *entity.StorageWork) {
			w.Attachment = on("disk/0", entity.Alive, "any/1", "")
			w.Attachment.InUse = "any/2"
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, split(c.has)...)
			if c.before != nil {
				c.before(m)
			}
			work, err := storage.Work(m.Ctx, m.DB)
			m.OK(err)
			modeltest.Same(t, "the work", work, c.want)
		})
	}
}

// What the cloud has made of storage is recorded once, with its status gone.
func TestSetFilesystem(t *testing.T) {
	disk := func(m *modeltest.Model, machine string) {
		m.Unset(modeldb.StorageC, "any/1", "filesystem")
		if machine != "" {
			m.Set(modeldb.StorageC, "any/1", bson.DocElem{Name: "machine", Value: machine})
		}
	}
	for _, c := range []struct {
		name   string
		f      entity.Filesystem
		before func(m *modeltest.Model)
		kind   entity.Kind
		want   string
	}{
		{"of the cloud", entity.Filesystem{ID: "fs", Size: 9}, func(m *modeltest.Model) { disk(m, "") }, "", ""},
		{"of storage that is to end", entity.Filesystem{ID: "fs", Size: 9}, func(m *modeltest.Model) { disk(m, ""); m.Kill(modeldb.StorageC, "any/1", entity.Dying) }, "", ""},
		{"of storage that has ended", entity.Filesystem{ID: "fs", Size: 9}, func(m *modeltest.Model) { disk(m, ""); m.Kill(modeldb.StorageC, "any/1", entity.Dead) },
			entity.NotAlive, `storage "any/1" is dead`},
		{"of other storage", entity.Filesystem{ID: "fs", Size: 9}, func(*modeltest.Model) {}, entity.AlreadyExists, `storage "any/1" has filesystem "fs-any/1"`},
		{"of none", entity.Filesystem{ID: "fs", Size: 9}, func(m *modeltest.Model) { m.Remove(modeldb.StorageC, "any/1") }, entity.NotFound, `storage "any/1" not found`},
		{"of the machine", entity.Filesystem{ID: "fs", Size: 9, Instance: "i-0"}, func(m *modeltest.Model) { disk(m, "0") }, "", ""},
		{"of a machine before", entity.Filesystem{ID: "fs", Size: 9, Instance: "i-9"}, func(m *modeltest.Model) { disk(m, "0") },
			entity.NotAlive, "machine 0 has lost its instance i-9"},
		{"of no machine", entity.Filesystem{ID: "fs", Size: 9, Instance: "i-7"}, func(m *modeltest.Model) { disk(m, "7") },
			entity.NotFound, "machine 7 not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, "any/1")
			m.Put(modeldb.Status{ID: modeldb.StorageKey("any/1"), Status: entity.StatusError, Message: "no room"})
			c.before(m)
			set := func() error { return storage.SetFilesystem(m.Ctx, m.DB, "any/1", c.f) }
			err := set()
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				modeltest.Same(t, "the statuses", len(m.IDsIn(modeldb.StatusesC)), 1)
				return
			}
			m.OK(err)
			s := modeltest.Get[modeldb.Storage](m, "any/1")
			modeltest.Same(t, "the filesystem", entity.Filesystem{ID: s.Filesystem, Size: s.Made}, entity.Filesystem{ID: "fs", Size: 9})
			modeltest.Same(t, "the statuses", m.IDsIn(modeldb.StatusesC), []string{})
			m.NoCommit(set)
		})
	}
}

// Where storage is attached is recorded once, if it is to be there still, and on the machine's instance.
func TestSetAttached(t *testing.T) {
	for _, c := range []struct {
		name, unit, id, instance string
		before                   func(m *modeltest.Model)
		kind                     entity.Kind
		want                     string
	}{
		{"there", "disk/0", "any/1", "i-0", nil, "", ""},
		{"elsewhere before", "disk/0", "any/1", "i-0", func(m *modeltest.Model) { at(m, "disk/0", "any/1", "/before") }, "", ""},
		{"on no instance", "disk/0", "any/1", "", func(m *modeltest.Model) { m.Unset(modeldb.MachinesC, "0", "instance") }, "", ""},
		{"given up", "disk/0", "any/2", "i-0", nil, entity.NotAlive, `storage "any/2" is being detached`},
		{"another's", "disk/1", "any/1", "i-1", nil, entity.NotFound, "not found"},
		{"on an instance before", "disk/0", "any/1", "i-9", nil, entity.NotAlive, "machine 0 has lost its instance i-9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newDisks(t, "any/1 on disk/0", "any/2 on disk/0 dying")
			m.Put(modeldb.Status{ID: modeldb.StorageKey(c.id), Status: entity.StatusError, Message: "no"})
			if c.before != nil {
				c.before(m)
			}
			set := func() error { return storage.SetAttached(m.Ctx, m.DB, c.id, c.unit, c.instance, "/here") }
			err := set()
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				return
			}
			m.OK(err)
			modeltest.Same(t, "it is at", modeltest.Get[modeldb.Attachment](m, modeldb.AttachmentID(c.unit, c.id)).Location, "/here")
			modeltest.Same(t, "the statuses", m.IDsIn(modeldb.StatusesC), []string{})
			m.NoCommit(set)
		})
	}
}

// attached is newDisks with any/1, any/2 and any/3 recorded as attached to disk/0, the last of which is given up, and any/4 to disk/1.
func attached(t *testing.T) *modeltest.Model {
	m := newDisks(t, "any/1 on disk/0", "any/2 on disk/0", "any/3 on disk/0 dying", "any/4 on disk/1", "any/5 on disk/1")
	for _, id := range []string{"any/1", "any/2", "any/3"} {
		m.Set(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", id), bson.DocElem{Name: "location", Value: "/here/" + id}, bson.DocElem{Name: "born", Value: m.Time})
	}
	at(m, "disk/1", "any/4", "/here/any/4")
	return m
}

// Of what is recorded as attached, that counts which the cloud has on its instances.
func TestAttached(t *testing.T) {
	t.Parallel()
	m := attached(t)
	one := func(id string) entity.Attached {
		return entity.Attached{Storage: id, Unit: "disk/0", Machine: "0", Instance: "i-0", Filesystem: "fs-" + id, Mount: "/" + id,
			Location: "/here/" + id, Born: m.Time}
	}
	four := entity.Attached{Storage: "any/4", Unit: "disk/1", Machine: "1", Instance: "i-1", Filesystem: "fs-any/4", Mount: "/any/4", Location: "/here/any/4"}
	is := func(want ...entity.Attached) {
		t.Helper()
		all, err := storage.Attached(m.Ctx, m.DB)
		m.OK(err)
		modeltest.Same(t, "attached is", all, want)
	}
	is(one("any/1"), one("any/2"), four)
	m.Unset(modeldb.StorageC, "any/2", "filesystem")
	is(one("any/1"), four)
	m.Set(modeldb.MachinesC, "1", bson.DocElem{Name: "instance", Value: "manual:10.0.0.1"})
	is(one("any/1"))
	m.Remove(modeldb.MachinesC, "0")
	is()
	m.Set(modeldb.MachinesC, "1", bson.DocElem{Name: "instance", Value: "i-1"})
	is(four)
	m.Unset(modeldb.MachinesC, "1", "instance")
	is()
	m.Unset(modeldb.AttachmentsC, modeldb.AttachmentID("disk/1", "any/4"), "location")
	m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "any/1"), entity.Dead)
	m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "any/2"), entity.Dead)
	is()
}

// What a machine's instance has lost is attached again, if its records are those that were read.
func TestLoseAttachments(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *modeltest.Model, lost []entity.Attached)
		kind   entity.Kind
		want   string
	}{
		{"all", func(*modeltest.Model, []entity.Attached) {}, "", ""},
		{"the second is given up", func(m *modeltest.Model, _ []entity.Attached) {
			m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "any/2"), entity.Dying)
		}, entity.NotAlive, `storage "any/2" has been detached`},
		{"the first is another attachment", func(_ *modeltest.Model, lost []entity.Attached) { lost[0].Born = lost[0].Born.Add(-1e9) },
			entity.NotAlive, `storage "any/1" has been detached`},
		{"the first is elsewhere", func(m *modeltest.Model, _ []entity.Attached) { at(m, "disk/0", "any/1", "/there") },
			entity.NotAlive, `storage "any/1" has been detached`},
		{"it is gone", func(m *modeltest.Model, _ []entity.Attached) {
			m.Remove(modeldb.AttachmentsC, modeldb.AttachmentID("disk/0", "any/1"))
		}, entity.NotFound, "not found"},
		{"the machine has another instance", func(m *modeltest.Model, _ []entity.Attached) {
			m.Set(modeldb.MachinesC, "0", bson.DocElem{Name: "instance", Value: "i-9"})
		}, entity.NotAlive, "machine 0 has lost its instance i-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := attached(t)
			lost, err := storage.Attached(m.Ctx, m.DB)
			m.OK(err)
			lost = lost[:2]
			c.change(m, lost)
			err = storage.LoseAttachments(m.Ctx, m.DB, lost)
			if c.kind != "" {
				m.Refused(err, c.kind, c.want)
				return
			}
			m.OK(err)
			var left []string
			for _, a := range modeltest.All[modeldb.Attachment](m) {
				if a.Location != "" {
					left = append(left, a.Location)
				}
			}
			modeltest.Same(t, "what is attached", left, []string{"/here/any/3", "/here/any/4"})
		})
	}
}

// The storage, its unit or the machine changes while something of them is recorded.
func TestRecordsThatChangeMeanwhile(t *testing.T) {
	filesystem := func(instance string) func(m *modeltest.Model) error {
		return func(m *modeltest.Model) error {
			return storage.SetFilesystem(m.Ctx, m.DB, "any/6", entity.Filesystem{ID: "fs-new", Size: 1, Instance: instance})
		}
	}
	set := func(m *modeltest.Model) error {
		return storage.SetAttached(m.Ctx, m.DB, "any/5", "disk/1", "i-1", "/here")
	}
	lose := func(m *modeltest.Model) error {
		lost, err := storage.Attached(m.Ctx, m.DB)
		m.OK(err)
		return storage.LoseAttachments(m.Ctx, m.DB, lost[:2])
	}
	loses := func(machine string) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Unset(modeldb.MachinesC, machine, "instance") }
	}
	gives := func(unit, id string) func(*modeltest.Model) {
		return func(m *modeltest.Model) {
			m.Kill(modeldb.AttachmentsC, modeldb.AttachmentID(unit, id), entity.Dying)
		}
	}
	for name, c := range map[string]struct {
		call   func(*modeltest.Model) error
		change func(*modeltest.Model)
		kind   entity.Kind
		want   string
	}{
		"filesystem: of another provisioner": {filesystem(""), func(m *modeltest.Model) {
			m.Set(modeldb.StorageC, "any/6", bson.DocElem{Name: "filesystem", Value: "fs-other"})
		}, entity.AlreadyExists, `has filesystem "fs-other"`},
		"filesystem: the storage ends": {filesystem(""), func(m *modeltest.Model) { m.Kill(modeldb.StorageC, "any/6", entity.Dead) }, entity.NotAlive, "is dead"},
		"filesystem: the instance is lost": {func(m *modeltest.Model) error {
			m.Set(modeldb.StorageC, "any/6", bson.DocElem{Name: "machine", Value: "0"})
			return filesystem("i-0")(m)
		}, loses("0"), entity.NotAlive, "machine 0 has lost its instance i-0"},
		"attached: it is given up":       {set, gives("disk/1", "any/5"), entity.NotAlive, "is being detached"},
		"attached: the instance is lost": {set, loses("1"), entity.NotAlive, "machine 1 has lost its instance i-1"},
		"attached: an instance has begun": {func(m *modeltest.Model) error {
			m.Unset(modeldb.MachinesC, "1", "instance")
			return storage.SetAttached(m.Ctx, m.DB, "any/5", "disk/1", "", "/here")
		}, func(m *modeltest.Model) { m.Set(modeldb.MachinesC, "1", bson.DocElem{Name: "instance", Value: "i-9"}) }, entity.NotAlive, "has lost its instance"},
		"lost: the second is given up":  {lose, gives("disk/0", "any/2"), entity.NotAlive, `storage "any/2" has been detached`},
		"lost: the instance is another": {lose, loses("0"), entity.NotAlive, "machine 0 has lost its instance i-0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := attached(t)
			m.Put(modeldb.Storage{ID: "any/6"})
			m.Refused(m.Race(func() { c.change(m) }, func() error { return c.call(m) }), c.kind, c.want)
		})
	}
}

// What can't be read is told, and nothing is changed.
func TestStoreIsAway(t *testing.T) {
	m := newDisks(t, "any/1 on disk/0")
	pools := storage.PoolsOf(m.DB)
	lost := []entity.Attached{{Storage: "any/1", Unit: "disk/0"}}
	m.Close(errors.New("the store is away"))
	_, work := storage.Work(m.Ctx, m.DB)
	_, attached := storage.Attached(m.Ctx, m.DB)
	_, all := pools.All(m.Ctx)
	_, _, begin := pools.BeginImport(m.Ctx, "fast", "fs", "cache")
	_, add := storage.Add(m.Ctx, m.DB, "disk/0", "any", want{Count: 1})
	_, stores := storage.StoresOf(m.Ctx, m.DB, &modeltxn.Ops{}, "disk")
	_, used := storage.Used{}.Pool(m.Ctx, m.DB, &modeltxn.Ops{}, modeldb.Model{Cloud: "dummy"}, "fast")
	for name, err := range map[string]error{"Work": work, "Attached": attached, "All": all, "BeginImport": begin, "Add": add, "StoresOf": stores,
		"Pool": used, "Create": pools.Create(m.Ctx, fast.Pool()), "Update": pools.Update(m.Ctx, "fast", nil), "Remove": pools.Remove(m.Ctx, "fast"),
		"EndImport": pools.EndImport(m.Ctx, "fs", ""), "Import": pools.Import(m.Ctx, "any/2", "fast", entity.Filesystem{ID: "fs"}),
		"Attach": storage.Attach(m.Ctx, m.DB, "disk/0", "any/1"), "Reserve": (&storage.Numbers{}).Reserve(m.Ctx, m.DB, 1),
		"SetFilesystem":   storage.SetFilesystem(m.Ctx, m.DB, "any/1", entity.Filesystem{ID: "fs"}),
		"SetAttached":     storage.SetAttached(m.Ctx, m.DB, "any/1", "disk/0", "i-0", "/here"),
		"LoseAttachments": storage.LoseAttachments(m.Ctx, m.DB, lost)} {
		if err == nil || errors.Is(err, mongo.ErrNothing) || entity.IsNotFound(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
