// Package statetest opens a real state for tests, on the embedded store in memory unless
// JUJU_TEST_STORE selects another.
package statetest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state"
	"juju/state/controller"
	"juju/state/mongo"
	"juju/state/sealing"
)

// The user who owns everything, and the user's password.
const (
	Admin    = "admin"
	Password = "correct horse"
)

// SecretKey is the key of all controllers of tests that are given none, in each process of a test.
var SecretKey = sealing.Derive("controllers", "of tests")

// PasswordCost, for controller.Options, makes passwords cheap to hash, because tests log in constantly.
const PasswordCost = bcrypt.MinCost

// Controller creates a controller with its own model and one called "default", and closes it when the test
// ends.
func Controller(t testing.TB) (*controller.Controller, *state.State) {
	t.Helper()
	return ControllerWith(t, controller.Options{})
}

// ControllerWith is Controller with custom options.
func ControllerWith(t testing.TB, o controller.Options) (*controller.Controller, *state.State) {
	t.Helper()
	return ControllerOn(t, Store(t, mongo.Options{}), o)
}

// ControllerOn is ControllerWith on the given store, which it closes when the test ends.
func ControllerOn(t testing.TB, store *mongo.Store, o controller.Options) (*controller.Controller, *state.State) {
	t.Helper()
	c := OpenController(t, store, o)
	stores.Store(c, store)
	t.Cleanup(func() {
		stores.Delete(c)
		c.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, AddModel(t, c, "default")
}

// StoreOf returns the store of a controller created by this package.
func StoreOf(c *controller.Controller) *mongo.Store {
	store, _ := stores.Load(c)
	return store.(*mongo.Store)
}

// ControllerDB opens the controller's own database in a store until the test ends.
func ControllerDB(t testing.TB, store *mongo.Store) *mongo.Database {
	db := store.Open(controller.DB)
	t.Cleanup(func() { db.Close(errors.New("the test has ended")) })
	return db
}

// Damage damages a model: it removes the reference counts of one of its services.
func Damage(t testing.TB, c *controller.Controller, model *state.State, service string) {
	t.Helper()
	damage(t, c, model, "counts", func(c *mgo.Collection) error { return c.RemoveId("s#" + service) })
}

// DamageController damages a controller's own records: it adds a grant for a model that does not exist.
func DamageController(t testing.TB, c *controller.Controller, model string) {
	t.Helper()
	err := ControllerDB(t, StoreOf(c)).With(t.Context(), "modelusers", func(c *mgo.Collection) error {
		return c.Insert(bson.D{{"_id", model + "#admin"}, {"model", model}, {"user", "admin"}, {"access", "read"}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// DamageRelations removes the endpoints of a model's relations.
func DamageRelations(t testing.TB, c *controller.Controller, model *state.State) {
	t.Helper()
	damage(t, c, model, "relations", func(c *mgo.Collection) error {
		_, err := c.UpdateAll(nil, bson.D{{"$set", bson.D{{"endpoints", []string{}}}}})
		return err
	})
}

func damage(t testing.TB, c *controller.Controller, model *state.State, collection string, f func(*mgo.Collection) error) {
	t.Helper()
	db := StoreOf(c).Open(model.UUID())
	defer db.Close(errors.New("the damage is done"))
	if err := db.With(t.Context(), collection, f); err != nil {
		t.Fatal(err)
	}
}

var stores sync.Map // *controller.Controller → *mongo.Store

// Charm adds a charm with this metadata and further files (name and text, alternating), and returns its
// URL.
func Charm(t testing.TB, st *state.State, metadata string, files ...string) string {
	t.Helper()
	url, err := st.Charms().Add(t.Context(), CharmArchive(t, metadata, files...), "")
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// StoredCharm adds such a charm as one from a store.
func StoredCharm(t testing.TB, st *state.State, url charm.URL, metadata string, files ...string) error {
	t.Helper()
	archive, err := os.Open(CharmArchive(t, metadata, files...))
	OK(t, err)
	defer archive.Close()
	return st.Charms().AddStored(t.Context(), archive, url)
}

// CharmArchive creates the archive of such a charm and returns its path.
func CharmArchive(t testing.TB, metadata string, files ...string) string {
	t.Helper()
	dir, zip := t.TempDir(), filepath.Join(t.TempDir(), "charm.zip")
	files = append([]string{"metadata.yaml", metadata}, files...)
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	read, err := charm.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(zip)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.ArchiveTo(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return zip
}

// Metadata of charms that many tests use: a database, a site that requires one, a cluster with peers, and
// a subordinate.
const (
	MySQL = `{name: mysql, summary: s, description: d,
  provides: {server: {interface: mysql}, admin: {interface: mysql-root}}}`
	Wordpress = `{name: wordpress, summary: s, description: d,
  requires: {db: {interface: mysql}, cache: {interface: varnish}}}`
	Riak = `{name: riak, summary: s, description: d,
  provides: {endpoint: {interface: http}}, peers: {ring: {interface: riak}}}`
	Logging = `{name: logging, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}}}`
)
