package mongotest

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/embedded"
)

// An Opener opens a store and a database in it, which has the collection "c" of Docs.
type Opener func(*testing.T) (*mongo.Store, *mongo.Database)

// OnBoth runs a test with the server's transactions and with mgo/txn's.
func OnBoth(t *testing.T, test func(*testing.T, Opener)) {
	t.Run("transactions", func(t *testing.T) { test(t, Open) })
	t.Run("mgo-txn", func(t *testing.T) { test(t, OpenStandalone) })
}

// Open opens an embedded store in memory, until the test ends.
func Open(t *testing.T) (*mongo.Store, *mongo.Database) {
	t.Helper()
	return OpenWith(t, mongo.Options{})
}

// OpenStandalone is Open for a server without transactions, so that mgo/txn's are used.
func OpenStandalone(t *testing.T) (*mongo.Store, *mongo.Database) {
	t.Helper()
	return OpenWith(t, mongo.Options{Embedded: embedded.Options{Standalone: true}})
}

// OpenWith is Open with options. Its transactions have Hooks.
func OpenWith(t *testing.T, o mongo.Options) (*mongo.Store, *mongo.Database) {
	t.Helper()
	o.Embedded.FS, o.Hooks = vfs.NewMem(), NewHooks()
	store, err := mongo.OpenEmbedded("store", o)
	if err != nil {
		t.Fatal(err)
	}
	return store, made(t, store)
}

// OpenURL opens the store at a URL, until the test ends. Its transactions have Hooks.
func OpenURL(t *testing.T, url string, o mongo.Options) (*mongo.Store, *mongo.Database) {
	t.Helper()
	u, err := mongo.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.Hooks = NewHooks()
	store, err := mongo.OpenURL(t.Context(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	return store, made(t, store)
}

// made makes the database twice, as controllers that start do.
func made(t *testing.T, store *mongo.Store) *mongo.Database {
	t.Helper()
	for range 2 {
		if err := store.Make(t.Context(), "db", mongo.Schema{LogSize: 1 << 20}); err != nil {
			t.Fatal(err)
		}
	}
	db := store.Open("db")
	t.Cleanup(func() {
		db.Close(errors.New("the test has ended"))
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// A Doc is a document of the collection "c".
type Doc struct {
	ID string `bson:"_id"`
	N  int    `bson:"n"`
}

// Insert adds a document.
func Insert(t *testing.T, db *mongo.Database, d Doc) {
	t.Helper()
	err := db.Run(t.Context(), func(int) ([]txn.Op, error) {
		return []txn.Op{{C: "c", Id: d.ID, Assert: txn.DocMissing, Insert: d}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Get reads a document, which must exist.
func Get(t *testing.T, db *mongo.Database, id string) Doc {
	t.Helper()
	var d Doc
	if err := db.Get(t.Context(), "c", id, &d, "doc "+id); err != nil {
		t.Fatal(err)
	}
	return d
}

// Write changes a collection outside transactions.
func Write(t *testing.T, db *mongo.Database, collection string, f func(*mgo.Collection) error) {
	t.Helper()
	if err := db.With(t.Context(), collection, f); err != nil {
		t.Fatal(err)
	}
}
