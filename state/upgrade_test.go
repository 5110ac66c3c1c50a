package state_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	driver "go.mongodb.org/mongo-driver/bson"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/statetest"
)

// docs returns the documents of a collection in all databases, as text, without
// the fields that the transaction runner adds.
func (s snapshot) docs(t *testing.T, collection string) (all []string) {
	t.Helper()
	for line := range strings.Lines(string(s)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) < 3 || fields[1] != collection {
			continue
		}
		var doc driver.M
		if err := driver.UnmarshalExtJSON([]byte(fields[2]), true, &doc); err != nil {
			t.Fatal(err)
		}
		for _, field := range mongo.TxnFields {
			delete(doc, field)
		}
		all = append(all, fmt.Sprint(fields[0], " ", doc))
	}
	slices.Sort(all)
	return all
}

// step returns an upgrade step; run is given the database to upgrade.
func step(about string, run func(context.Context, *mongo.Database) error) schema.Step {
	return schema.Step{About: about,
		Run: func(ctx context.Context, _ *mongo.Store, db *mongo.Database) error { return run(ctx, db) }}
}

// withSteps returns the options of a program with further upgrade steps.
func withSteps(ofController, ofModels []schema.Step) controller.Options {
	return controller.Options{Steps: slices.Concat(controller.Steps, ofController),
		ModelSteps: slices.Concat(state.Steps, ofModels)}
}

// steps returns the upgrade steps of a later program: two of models, each of
// several writes, the second depending on the first; and one of the controller.
func steps() (controller, model []schema.Step) {
	each := func(collection string, change func(*mgo.Collection, string) error) func(context.Context, *mongo.Database) error {
		return func(ctx context.Context, db *mongo.Database) error {
			return db.With(ctx, collection, func(c *mgo.Collection) error {
				var docs []struct {
					ID string `bson:"_id"`
				}
				if err := c.Find(nil).Sort("_id").All(&docs); err != nil {
					return err
				}
				for _, d := range docs {
					if err := change(c, d.ID); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	// No transaction touches units and users in this test, so they can be written
	// directly.
	set := func(field string, after bson.D) func(*mgo.Collection, string) error {
		return func(c *mgo.Collection, id string) error {
			err := c.Update(append(bson.D{{"_id", id}}, after...), bson.D{{"$set", bson.D{{field, id}}}})
			if err == mgo.ErrNotFound {
				return fmt.Errorf("%s of %s was not set after %v", field, id, after)
			}
			return err
		}
	}
	return []schema.Step{step("users have nicknames", each("users", set("nick", nil)))},
		[]schema.Step{
			step("units have one", each("units", set("one", nil))),
			step("units have two", each("units", set("two", bson.D{{"one", bson.D{{"$exists", true}}}}))),
		}
}

// A store with the first schema opens with everything in it, and keeps working.
func TestOpenFirstSchema(t *testing.T) {
	store := newStore(t, nil)
	snapshotFile(t, "testdata/form-1.txt").restore(t, store)
	w := &world{T: t, ctx: t.Context()}
	var err error
	w.ctrl, err = controller.Open(w.ctx, store, controller.Options{})
	w.ok(err)
	defer w.ctrl.Close()
	_, err = w.ctrl.CheckUser(w.ctx, statetest.Admin, statetest.Password)
	w.ok(err)
	_, err = w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bob", Password: "Bob's", Creator: statetest.Admin})
	w.ok(err)
	w.ok(w.ctrl.GrantController(w.ctx, "bob", "superuser"))
	w.ok(w.ctrl.RevokeController(w.ctx, statetest.Admin, "superuser"))
	models := map[string]*state.State{}
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, row := range rows {
		models[row.Name], err = w.ctrl.Model(w.ctx, row.UUID)
		w.ok(err)
	}
	if len(models) != 3 {
		t.Fatalf("models are %v", rows)
	}
	w.st = models["default"]
	w.checkCounts()
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	if len(status.Services) != 4 || len(status.Machines) != 5 || !status.Services[1].Exposed ||
		len(status.Services[1].Units) != 2 ||
		status.Services[1].Units[0].Workload.Message != "ready" || status.Services[1].Units[0].OpenedPorts[0].From != 3306 {
		t.Errorf("the status is %+v", status)
	}
	mysql := mustService(w, "mysql")
	config, err := mysql.EffectiveConfig(w.ctx, mysql.CharmURL())
	w.ok(err)
	if config["title"] != "T" || config["a.b"] != "x" {
		t.Errorf("the configuration is %v", config)
	}
	for _, name := range []string{"default", "other"} {
		archive, sum, err := models[name].Charms().Archive(w.ctx, "local:jammy/mysql-0")
		w.ok(err)
		text, err := io.ReadAll(archive)
		w.ok(errors.Join(err, archive.Close()))
		if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the archive of model %s has changed", name)
		}
	}
	// Interrupted work resumes: riak is Dying, and one model was never completed.
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	w.end("riak/0", 0)
	_, err = w.st.Service(w.ctx, "riak")
	w.gone("service", "riak", err)
	if left, err := statetest.ResumeModels(w.ctx, w.ctrl, nowhere); left != 0 || err != nil {
		t.Errorf("%d models are left half done: %v", left, err)
	}
	half, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "half", Owner: statetest.Admin, Series: "jammy"})
	w.ok(err)
	if half.UUID() == "deadbeef-0000-4000-8000-00000000beef" {
		t.Error("the abandoned model came back")
	}
	_, err = mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.ok(w.unit("wordpress/0").Destroy(w.ctx, entity.Destruction{}))
	w.checkCounts()
}

// nowhere cleans up a model outside of the store, where tests have nothing.
func nowhere(context.Context, controller.ModelRow) error { return nil }

// Whichever message to the store was the last, the next program resumes the
// upgrade, with the same result.
func TestKillDuringUpgrade(t *testing.T) {
	r := newRecorder(t)
	snapshotFile(t, "testdata/form-1.txt").restore(t, r.store)
	open := func(store *mongo.Store) error {
		c, err := controller.Open(t.Context(), store, withSteps(steps()))
		if err == nil {
			c.Close()
		}
		return err
	}
	points := r.record(func() {
		if err := open(r.store); err != nil {
			t.Fatal(err)
		}
	})
	last := points[len(points)-1]
	if units := last.docs(t, "units"); len(units) != 6 || !strings.Contains(units[0], "two:") {
		t.Fatalf("units %v", units)
	}
	for i, p := range some(t, points) {
		store := newStore(t, nil)
		p.restore(t, store)
		if err := open(store); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		got, err := take(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{"schema", "units", "users", "blobs"} {
			if a, b := got.docs(t, c), last.docs(t, c); !slices.Equal(a, b) {
				t.Errorf("after %d: %s\n%v\nwant\n%v", i, c, a, b)
			}
		}
	}
}

// A step that fails or is cancelled leaves the version unchanged.
func TestUpgradeStopsAtAFailedStep(t *testing.T) {
	store := newStore(t, nil)
	snapshotFile(t, "testdata/form-1.txt").restore(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	var ran []string
	step := func(name string, err func() error) schema.Step {
		return step(name, func(context.Context, *mongo.Database) error {
			ran = append(ran, name)
			return err()
		})
	}
	fine := func() error { return nil }
	open := func(ctx context.Context, b func() error) error {
		c, err := controller.Open(ctx, store, withSteps([]schema.Step{step("a", fine),
			step("b", b), step("c", fine)}, nil))
		if err == nil {
			c.Close()
		}
		return err
	}
	err := open(ctx, func() error { return errors.New("disk full") })
	if err == nil || !strings.Contains(err.Error(), "cannot upgrade the controller to version 6 of its schema: disk full") {
		t.Errorf("got %v", err)
	}
	if err := open(ctx, func() error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := open(t.Context(), fine); err != nil {
		t.Error(err)
	}
	if err := open(t.Context(), fine); err != nil {
		t.Error(err)
	}
	if got := strings.Join(ran, ""); got != "abbbc" {
		t.Errorf("steps ran in the order %s", got)
	}
}

// An older program does not open a store that a newer one has upgraded.
func TestNewerSchemaIsRefused(t *testing.T) {
	store := newStore(t, nil)
	snapshotFile(t, "testdata/form-1.txt").restore(t, store)
	_, ofModels := steps()
	newer, err := controller.Open(t.Context(), store, withSteps(nil, ofModels))
	if err != nil {
		t.Fatal(err)
	}
	newer.Close()
	// Only the models are newer: each is refused, and nothing else.
	w := &world{T: t, ctx: t.Context()}
	w.ctrl, err = controller.Open(w.ctx, store, controller.Options{})
	w.ok(err)
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, row := range rows {
		_, err := w.ctrl.Model(w.ctx, row.UUID)
		w.refused(err, entity.NotSupported, "has version 7, and this program supports up to 5")
		if !strings.Contains(entity.Hint(err), "newer juju") {
			t.Errorf("the hint is %q", entity.Hint(err))
		}
	}
	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "new", Owner: statetest.Admin, Series: "jammy"})
	w.ok(err)
	w.ctrl.Close()

	newer, err = controller.Open(t.Context(), store, withSteps(steps()))
	w.ok(err)
	newer.Close()
	before, err := take(t.Context(), store)
	w.ok(err)
	_, err = controller.Open(w.ctx, store, controller.Options{})
	w.refused(err, entity.NotSupported, "the schema of the controller has version 5, and this program supports up to 4")
	after, err := take(t.Context(), store)
	w.ok(err)
	if string(before) != string(after) {
		t.Error("the refused program changed something")
	}
}
