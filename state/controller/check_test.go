package controller_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/check/checktest"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

const (
	stray   = "deadbeef-0bad-400d-8000-4b1d0d06f00d" // no model has this UUID
	keptFor = statetest.Admin + "#default"
)

// A damage is a manual change to the controller's own records.
type damage struct {
	collection string // "" if no record changes
	what       string
	do         func(w *world, c *mgo.Collection) error
	finding    string
	stays      bool // no repair can fix it
}

// theFile returns the name of the only archive's file.
func theFile(c *mgo.Collection) (name string) {
	var doc struct{ File string }
	if err := c.Database.C("blobs").Find(nil).One(&doc); err != nil {
		panic(err)
	}
	return doc.File
}

var damages = []damage{
	{"", "a database without a model", func(w *world, _ *mgo.Collection) error {
		return w.store.Make(w.Context(), stray, state.Schema(state.DefaultSizes))
	},
		"database " + stray + ": it belongs to no model", false},
	{"models", "a model without a database", func(w *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": stray, "name": "x", "owner": statetest.Admin, "step": "ready"})
	}, "models " + stray + `: the database of model "x" does not exist`, false},
	{"modelnames", "a name that no model has", func(_ *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "a#b",
			"model": stray})
	},
		"modelnames a#b: no model has this name, but it is reserved", false},
	{"modelnames", "a model without a name", func(_ *world, c *mgo.Collection) error { return c.RemoveId(keptFor) },
		"modelnames " + keptFor + ": it is missing, so another model can take the name", false},
	{"users", "a model without an owner", func(_ *world, c *mgo.Collection) error { return c.RemoveId(statetest.Admin) },
		"its owner does not exist: users admin", true},
	{"modelusers", "a grant for a nonexistent model", func(_ *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": stray + "#admin", "model": stray, "user": "admin", "access": "read"})
	}, "modelusers " + stray + "#admin: its model does not exist: models " + stray, false},
	{"modelusers", "a grant to a nonexistent user", func(w *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": w.other() + "#nobody", "model": w.other(), "user": "nobody", "access": "read"})
	}, "#nobody: its user does not exist: users nobody", false},
	{"tokens", "a token for a nonexistent model", func(_ *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "admin#t", "model": stray, "user": "admin", "hash": "x"})
	}, "tokens admin#t: its model does not exist: models " + stray, false},
	{"tokens", "a token of a nonexistent user", func(w *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "nobody#t", "model": w.other(), "user": "nobody", "hash": "x"})
	}, "tokens nobody#t: its user does not exist: users nobody", false},
	{"sessions", "a session of a nonexistent user", func(_ *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "s", "user": "nobody", "hash": "x"})
	}, "sessions s: its user does not exist: users nobody", false},
	{"leases", "a lease of a nonexistent model", func(_ *world, c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": stray + "#mysql", "holder": "mysql/0"})
	}, "leases " + stray + "#mysql: model " + stray + " does not exist", false},
	{"controller", "no controller", func(_ *world, c *mgo.Collection) error { return c.RemoveId("controller") },
		"controller controller: it is missing, so the controller can't be started again", true},
	{"schema", "no schema", func(_ *world, c *mgo.Collection) error { return c.RemoveId("schema") },
		"schema schema: it is missing, so all upgrades would run again", false},
	{"blobs", "an archive of a nonexistent model", func(_ *world, c *mgo.Collection) error {
		return c.Update(nil, bson.D{{"$push", bson.D{{"models", stray}}}})
	}, "model " + stray + " refers to it but does not exist", false},
	{"blobs", "an archive without a charm", func(w *world, c *mgo.Collection) error {
		return c.Update(nil, bson.D{{"$push", bson.D{{"models", w.other()}}}})
	}, `model "controller" refers to it but does not use it`, false},
	{"blobs", "an archive without its record", func(_ *world, c *mgo.Collection) error { _, err := c.RemoveAll(nil); return err },
		"but charms use the archive in file", false},
	{"cloudcredentials", "a model whose credential is gone", func(w *world, c *mgo.Collection) error {
		w.ok(w.ctrl.AddCloudCredential(w.ctx, "ops", entity.CloudCredential{AuthType: "certificate"}))
		w.ok(w.ctrl.SetModelCredential(w.ctx, w.st.UUID(), "ops"))
		return c.RemoveId("#ops")
	}, "its credential of the cloud does not exist: cloudcredentials #ops", true},
	{"oldfiles", "a file in use that is marked for deletion",
		func(_ *world, c *mgo.Collection) error { return c.Insert(bson.M{"_id": theFile(c)}) },
		" has this file", false},
	{"", "a file that no archive has", func(_ *world, c *mgo.Collection) error {
		f, err := c.Database.GridFS("charms").Create("lonely")
		if err == nil {
			_, err = io.WriteString(f, "bits and bytes")
			f.Close()
		}
		return err
	}, "charms.files lonely: no archive has this file", false},
	{"", "content without a file", func(_ *world, c *mgo.Collection) error {
		return c.Database.C("charms.chunks").Insert(bson.M{"files_id": bson.ObjectIdHex("0123456789abcdef01234567"), "n": 0})
	}, "charms.chunks 0123456789abcdef01234567: no file has this content", false},
}

// onlyAlone names the damages that could also be the unfinished work of another
// controller.
var onlyAlone = []string{"an archive without a charm", "content without a file"}

// other returns the UUID of the model that holds the controller's machines.
func (w *world) other() string {
	models, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, m := range models {
		if m.UUID != w.st.UUID() {
			return m.UUID
		}
	}
	w.Fatal("no other model")
	return ""
}

// The controller's own records are checked, as are the databases and archives of its
// models.
func TestCheckController(t *testing.T) {
	for _, d := range damages {
		t.Run(d.what, func(t *testing.T) {
			if os.Getenv(statetest.StoreVariable) != "" && slices.Contains(onlyAlone, d.what) {
				t.Skip("another process might have the store open")
			}
			w := newWorld(t)
			url := statetest.Charm(t, w.st, statetest.MySQL)
			w.ok(w.db().With(w.ctx, "leases", func(c *mgo.Collection) error {
				return c.Insert(bson.M{"_id": w.other() + "#mysql", "holder": "mysql/0"})
			}))
			check := func(repair bool) []entity.Finding {
				t.Helper()
				found, err := w.ctrl.Check(w.ctx, repair)
				w.ok(err)
				return found
			}
			if found := check(false); len(found) > 0 {
				t.Fatalf("check of an undamaged controller found %s", statetest.Lines(found))
			}
			w.ok(w.db().With(t.Context(), "models", func(c *mgo.Collection) error { return d.do(w, c.Database.C(d.collection)) }))
			if text := statetest.Lines(check(false)); !strings.Contains(text, d.finding) {
				t.Errorf("want %s\n got %s", d.finding, text)
			}
			for _, f := range check(true) {
				if f.Failed != "" || !f.Done && !d.stays {
					t.Errorf("not repaired: %+v", f)
				}
			}
			if left := check(true); (len(left) > 0) != d.stays {
				t.Errorf("after the repair: %s", statetest.Lines(left))
			}
			left, err := w.st.Check(w.ctx, false)
			w.ok(err)
			if len(left) > 0 {
				t.Errorf("the check of the model found %s", statetest.Lines(left))
			}
			archive, _, err := w.st.Charms().Archive(w.ctx, url)
			w.ok(err)
			w.ok(archive.Close())
		})
	}
}

func TestEveryCollectionIsChecked(t *testing.T) {
	ruled, because := controller.Checked()
	var damaged []string
	for _, d := range damages {
		damaged = append(damaged, d.collection)
	}
	checktest.EveryCollectionIsChecked(t, "schema.go", ruled, because, damaged, 9)
}

// The check of the store makes progress with each document.
func TestChecksOfTheStoreAreProgress(t *testing.T) {
	t.Parallel()
	w := newController(t, statetest.Embedded(t, nil))
	check := func() (moved int) {
		_, err := w.ctrl.Check(controller.Moving(t.Context(), func() { moved++ }), false)
		w.ok(err)
		return moved
	}
	before := check()
	const documents = 30
	w.ok(w.store.Make(t.Context(), stray, state.Schema(state.DefaultSizes)))
	session := w.store.Session()
	defer session.Close()
	for n := range documents {
		w.ok(session.DB(stray).C("c").Insert(bson.D{{"_id", n}}))
	}
	if more := check() - before; more < documents {
		t.Errorf("%d documents more are %d steps more", documents, more)
	}
}

// A gap is a connection that breaks whenever it is about to carry a command.
type gap struct {
	net.Conn
	command *atomic.Pointer[string]
}

func (g gap) Write(b []byte) (int, error) {
	if command := g.command.Load(); command != nil && bytes.Contains(b, []byte(*command+"\x00")) {
		return 0, io.ErrClosedPipe
	}
	return g.Conn.Write(b)
}

// A check that cannot read what it must says so. It takes nothing for missing, and repairs nothing.
func TestCheckThatCannotReadRepairsNothing(t *testing.T) {
	var command atomic.Pointer[string]
	store := statetest.Embedded(t, func(c net.Conn) net.Conn { return gap{c, &command} })
	w := newController(t, store)
	statetest.Charm(t, w.mustAddModel("one"), statetest.MySQL)
	for _, name := range []string{"listDatabases", "distinct"} {
		command.Store(&name)
		found, err := w.ctrl.Check(w.ctx, true)
		command.Store(nil)
		if err == nil || len(found) > 0 {
			t.Errorf("without %s the check returns %v and finds %s", name, err, statetest.Lines(found))
		}
	}
	w = reopen(t, store)
	if found, err := w.ctrl.Check(w.ctx, false); len(found) > 0 || err != nil {
		t.Errorf("the check finds %s, %v", statetest.Lines(found), err)
	}
	statetest.CheckModels(t, w.ctrl, store)
}
