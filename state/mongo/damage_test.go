package mongo_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// A byte of a table on disk changes. Readers of its data get an error that names the damaged
// file; so does a check.
func TestDamagedTable(t *testing.T) {
	fs := vfs.NewMem()
	store, err := mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: fs}})
	if err != nil {
		t.Fatal(err)
	}
	session := store.Session()
	// They fill many blocks.
	for i := range 60 {
		noise := make([]byte, 1000)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		if err := session.DB("db").C("c").Insert(bson.M{"_id": i, "noise": noise}); err != nil {
			t.Fatal(err)
		}
	}
	session.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := mongotest.Compact(t.Context(), "store", fs); err != nil {
		t.Fatal(err)
	}
	name := flipTable(t, fs)
	if store, err = mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: fs}}); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	session = store.Session()
	defer session.Close()
	c := session.DB("db").C("c")
	op := txn.Op{C: "c", Id: 30, Update: bson.M{"$set": bson.M{"n": 2}}}
	for what, err := range map[string]error{
		"reading":     c.Find(nil).All(&[]bson.M{}),
		"writing":     c.UpdateId(30, bson.M{"$set": bson.M{"n": 1}}),
		"transaction": txn.NewRunner(session.DB("db").C("txns")).Run([]txn.Op{op}, "", nil),
	} {
		told := mongo.Damage(err)
		if !errors.Is(told, entity.Damaged) || !strings.HasPrefix(told.Error(), "the store's file "+name+" is damaged: ") || entity.Hint(told) == "" {
			t.Errorf("%s: %v, which is told as %v", what, err, told)
		}
	}
	if err := store.Embedded().Check(t.Context()); !errors.Is(err, embedded.ErrDamaged) || !strings.Contains(err.Error(), name) {
		t.Errorf("a check: %v", err)
	}
}

// flipTable changes a byte in the middle of the only table.
func flipTable(t *testing.T, fs vfs.FS) string {
	t.Helper()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		f, err := fs.Open("store/" + name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		data[len(data)/2] ^= 4
		out, err := fs.Create("store/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(data); err != nil {
			t.Fatal(err)
		}
		out.Close()
		return name
	}
	t.Fatal("there is no table")
	return ""
}
