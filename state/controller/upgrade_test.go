package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/statetest"
)

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

// firstSchema fills a store with a controller of the first schema.
func firstSchema(t *testing.T, store *mongo.Store) {
	t.Helper()
	statetest.ReadSnapshot(t, "../testdata/form-1.txt").Restore(t, store)
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

// A controller with the first schema opens with its users, who work as those of now do, and with the archives of its models.
func TestOpenFirstSchemaOfTheController(t *testing.T) {
	store := statetest.Embedded(t, nil)
	firstSchema(t, store)
	w := reopen(t, store)
	w.logsIn(statetest.Admin, statetest.Password, true)
	w.addUser("bob")
	w.ok(w.ctrl.GrantController(w.ctx, "bob", "superuser"))
	w.ok(w.ctrl.RevokeController(w.ctx, statetest.Admin, "superuser"))
	all, err := w.ctrl.Users(w.ctx, true)
	w.ok(err)
	if len(all) != 2 || all[0].Name != statetest.Admin || all[0].Access != "login" || all[0].CreatedBy != statetest.Admin || all[0].Disabled {
		t.Errorf("the users are %+v", all)
	}
	w.checkResumed() // one model was never completed
	statetest.CheckModels(t, w.ctrl, store)
	snapshot, err := statetest.TakeSnapshot(w.ctx, store)
	w.ok(err)
	if users := snapshot.Values(t, "blobs", "models"); !slices.ContainsFunc(users, func(all string) bool {
		return len(strings.Fields(all)) == 2
	}) {
		t.Errorf("no archive is that of two models: %q", users)
	}
	found, err := w.ctrl.Check(w.ctx, false)
	if w.ok(err); len(found) > 0 {
		t.Errorf("the check finds %s", statetest.Lines(found))
	}
}

// Whichever message to the store was the last, the next program resumes the
// upgrade, with the same result.
func TestKillDuringUpgrade(t *testing.T) {
	r := statetest.NewRecorder(t)
	firstSchema(t, r.Store)
	open := func(store *mongo.Store) error {
		c, err := controller.Open(t.Context(), store, withSteps(steps()))
		if err == nil {
			c.Close()
		}
		return err
	}
	points := r.Record(func() {
		if err := open(r.Store); err != nil {
			t.Fatal(err)
		}
	})
	last := points[len(points)-1]
	if units := last.Docs(t, "units"); len(units) != 6 || !strings.Contains(units[0], "two:") {
		t.Fatalf("units %v", units)
	}
	for i, p := range statetest.Some(t, points) {
		store := statetest.Embedded(t, nil)
		p.Restore(t, store)
		if err := open(store); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		got, err := statetest.TakeSnapshot(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{"schema", "units", "users", "blobs"} {
			if a, b := got.Docs(t, c), last.Docs(t, c); !slices.Equal(a, b) {
				t.Errorf("after %d: %s\n%v\nwant\n%v", i, c, a, b)
			}
		}
	}
}

// A step that fails or is cancelled leaves the version unchanged.
func TestUpgradeStopsAtAFailedStep(t *testing.T) {
	store := statetest.Embedded(t, nil)
	firstSchema(t, store)
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
	store := statetest.Embedded(t, nil)
	firstSchema(t, store)
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
		_, err = w.ctrl.Model(w.ctx, row.UUID) // tried again
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
	before, err := statetest.TakeSnapshot(t.Context(), store)
	w.ok(err)
	_, err = controller.Open(w.ctx, store, controller.Options{})
	w.refused(err, entity.NotSupported, "the schema of the controller has version 5, and this program supports up to 4")
	after, err := statetest.TakeSnapshot(t.Context(), store)
	w.ok(err)
	if string(before) != string(after) {
		t.Error("the refused program changed something")
	}
}
