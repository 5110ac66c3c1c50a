package schema_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/schema"
)

// A database has a form with steps, which note that they ran.
type database struct {
	*testing.T
	store *mongo.Store
	db    *mongo.Database
	ran   []string
	fail  string // the step that fails
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	store, db := mongotest.Open(t)
	return &database{T: t, store: store, db: db}
}

func (d *database) ok(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// form returns the form of the version after these steps.
func (d *database) form(steps ...string) schema.Form {
	f := schema.Form{Schema: mongo.Schema{LogSize: 1 << 20}}
	for i, name := range steps {
		f.Schema.Indexes = append(f.Schema.Indexes, mongo.Index{Collection: "c", Fields: []string{fmt.Sprint("f", i)}})
		f.Steps = append(f.Steps, schema.Step{About: name, Run: func(_ context.Context, _ *mongo.Store, db *mongo.Database) error {
			if d.ran = append(d.ran, name); d.fail == name {
				return errors.New("the disk is full")
			}
			return nil
		}})
	}
	return f
}

func (d *database) reach(f schema.Form) error {
	return f.Reach(d.Context(), d.store, d.db, "the model")
}

func (d *database) has(version int, ran ...string) {
	d.Helper()
	var doc struct {
		Version int    `bson:"version"`
		Made    string `bson:"made"`
	}
	d.ok(d.db.Get(d.Context(), schema.Collection, schema.Collection, &doc, "schema"))
	if doc.Version != version || doc.Made == "" || !slices.Equal(d.ran, ran) {
		d.Errorf("the version is %d (%q) after the steps %q, want %d after %q", doc.Version, doc.Made, d.ran, version, ran)
	}
	d.ran = nil
}

// A database without a version has the first. It gets the steps that it lacks, in order, each once.
func TestReach(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	behind := func(f schema.Form, want bool) {
		t.Helper()
		if got, err := f.IsBehind(t.Context(), d.db); got != want || err != nil {
			t.Errorf("it is behind: %v, %v", got, err)
		}
	}
	behind(d.form(), false)
	behind(d.form("one"), true)
	d.ok(d.reach(d.form()))
	d.has(1)
	d.ok(d.reach(d.form("one", "two")))
	d.has(3, "one", "two")
	d.ok(d.reach(d.form("one", "two")))
	d.has(3)
	behind(d.form("one", "two"), false)
	if f := d.form("one", "two"); f.Version() != 3 {
		t.Errorf("its version is %d", f.Version())
	}
	err := d.reach(d.form("one"))
	if entity.KindOf(err) != entity.NotSupported || err.Error() != "the schema of the model has version 3, and this program supports up to 2" ||
		!strings.Contains(entity.Hint(err), "newer juju") {
		t.Errorf("got %v (%s)", err, entity.Hint(err))
	}
	// A new index needs no step.
	f := d.form("one", "two")
	f.Schema.Indexes = append(f.Schema.Indexes, mongo.Index{Collection: "c", Fields: []string{"more"}})
	d.ok(d.reach(f))
	d.has(3)
}

// What was interrupted continues at the step that failed.
func TestReachContinues(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.fail = "two"
	err := d.reach(d.form("one", "two", "three"))
	if err == nil || err.Error() != "cannot upgrade the model to version 3 of its schema: the disk is full" {
		t.Errorf("got %v", err)
	}
	d.has(2, "one", "two")
	d.fail = ""
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.form("one", "two").Reach(ctx, d.store, d.db, "the model"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	d.ran = nil
	d.ok(d.reach(d.form("one", "two", "three")))
	d.has(4, "two", "three")
}

// Of two controllers that upgrade, the version is the higher, and one that has lost its lease stops.
func TestReachWithOthers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.ok(d.reach(d.form()))
	f := d.form("one", "two")
	first := f.Steps[0].Run
	f.Steps[0].Run = func(ctx context.Context, s *mongo.Store, db *mongo.Database) error {
		d.ok(d.reach(d.form("one", "two"))) // the other is faster
		return first(ctx, s, db)
	}
	d.ok(d.reach(f))
	d.has(3, "one", "two", "one", "two")
	mongotest.HooksOf(d.db).Set(mongotest.TestHook{Before: func() { d.ok(d.reach(d.form("one", "two", "x", "y"))) }})
	d.ok(d.reach(d.form("one", "two", "x")))
	d.ran = nil
	d.has(5)

	_, other := mongotest.Open(t)
	fenced, err := lease.Fence(t.Context(), other, 4)
	d.ok(err)
	_, err = lease.Fence(t.Context(), d.db, 5)
	d.ok(err)
	if err := d.form("one", "two", "x", "y", "z").Reach(fenced, d.store, d.db, "the model"); entity.KindOf(err) != entity.Unavailable || len(d.ran) > 0 {
		t.Errorf("got %v after %q", err, d.ran)
	}
}

// A new database records its form, and a check writes it if it is lost.
func TestRecordAndRule(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	f := d.form("one", "two")
	d.ok(d.db.Change(t.Context(), func(o *mongo.Ops) error { f.Record(o); return nil }))
	d.has(3)
	checks := func(want ...string) {
		t.Helper()
		k := &check.Checker{DB: d.db, Rules: []check.Rule{f.Rule()}, Fields: map[string][]string{schema.Collection: {"_id"}}}
		found, err := k.Run(t.Context(), true)
		d.ok(err)
		var got []string
		for _, w := range found {
			got = append(got, fmt.Sprint(w.Where, ": ", w.What, " ", w.Done))
		}
		if !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	checks()
	mongotest.Write(t, d.db, schema.Collection, func(c *mgo.Collection) error { return c.RemoveId(schema.Collection) })
	checks("schema schema: it is missing, so all upgrades would run again true")
	d.has(3)
}

// Rename moves all documents, also if it was interrupted or another controller moves them too.
func TestRename(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for i := range 3 {
		mongotest.Insert(t, d.db, mongotest.Doc{ID: fmt.Sprint(i), N: i})
	}
	step := schema.Rename("c", "d")
	mongotest.HooksOf(d.db).Set(mongotest.TestHook{}, mongotest.TestHook{Before: func() { d.ok(step(t.Context(), d.store, d.db)) }})
	d.ok(step(t.Context(), d.store, d.db))
	for collection, want := range map[string]int{"c": 0, "d": 3} {
		if n, err := d.db.Count(t.Context(), collection, nil); n != want || err != nil {
			t.Errorf("%s has %d, %v", collection, n, err)
		}
	}
	if n, err := d.db.Count(t.Context(), "d", bson.D{{"_id", "2"}, {"n", 2}}); n != 1 || err != nil {
		t.Errorf("a document has changed: %v", err)
	}
}
