package mongo_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// A byte of a table on disk changes. Reads of its data fail with an error that names the
// damaged file; so does a check.
func TestDamagedTable(t *testing.T) {
	fs := vfs.NewMem()
	store, err := mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: fs}})
	if err != nil {
		t.Fatal(err)
	}
	session := store.Session()
	// Enough documents to fill many blocks.
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
	db := store.Open("db")
	defer db.Close(nil)
	op := txn.Op{C: "c", Id: 30, Update: bson.M{"$set": bson.M{"n": 2}}}
	for what, err := range map[string]error{
		"reading":     db.All(t.Context(), "c", nil, &[]bson.M{}),
		"writing":     db.With(t.Context(), "c", func(c *mgo.Collection) error { return c.UpdateId(30, bson.M{"$set": bson.M{"n": 1}}) }),
		"a file":      store.Told(session.DB("db").C("c").Find(nil).All(&[]bson.M{})),
		"transaction": db.Run(t.Context(), func(int) ([]txn.Op, error) { return []txn.Op{op}, nil }),
	} {
		if entity.KindOf(err) != entity.Damaged || !strings.Contains(err.Error(), "the store's file "+name+" is damaged: ") || entity.Hint(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := store.Embedded().Check(t.Context(), nil); !errors.Is(err, embedded.ErrDamaged) || !strings.Contains(err.Error(), name) {
		t.Errorf("a check: %v", err)
	}
}

// TestFullDisk: the store reports its own full disk only by text.
func TestFullDisk(t *testing.T) {
	store, err := mongo.OpenEmbedded("store", mongo.Options{Embedded: embedded.Options{FS: vfs.NewMem()}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	full := &mgo.QueryError{Code: 14031, Message: "write 000004.log: no space left on device"}
	for _, err := range []error{store.Told(full), store.Told(store.Told(full))} {
		if !entity.IsDiskFull(err) || err.Error() != full.Error() {
			t.Errorf("a full disk is reported as %v", err)
		}
	}
	if err := store.Told(errors.New("no disk")); entity.IsDiskFull(err) {
		t.Errorf("taken for a full disk: %v", err)
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
	t.Fatal("no table found")
	return ""
}

// A store whose files are damaged is not opened, and what can be done is said with its directory.
func TestADamagedStoreIsNotOpened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	store, err := mongo.OpenEmbedded(dir, mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mongo.OpenEmbedded(dir, mongo.Options{}); err == nil || entity.Hint(err) != "" {
		t.Errorf("one that is in use: %v; %s", err, entity.Hint(err))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("%q, %v", manifests, err)
	}
	for _, manifest := range manifests {
		if err := os.WriteFile(manifest, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store, err = mongo.OpenEmbedded(dir, mongo.Options{})
	if err == nil {
		store.Close()
		t.Fatal("it was opened")
	}
	if entity.KindOf(err) != entity.Damaged || !strings.Contains(entity.Hint(err), "--dbpath "+dir) {
		t.Errorf("%v; %s", err, entity.Hint(err))
	}
}
