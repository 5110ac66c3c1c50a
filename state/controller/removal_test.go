package controller_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/statetest"
)

// twins returns two models that share an archive, of which one has another
// archive as well.
func (w *world) twins() (one, two *state.State, shared string) {
	w.Helper()
	one, two = w.mustAddModel("one"), w.mustAddModel("two")
	shared = statetest.CharmArchive(w, statetest.MySQL)
	for _, st := range []*state.State{one, two} {
		_, err := st.Charms().Add(w.ctx, shared, "")
		w.ok(err)
	}
	statetest.Charm(w, one, statetest.Wordpress)
	return one, two, shared
}

func TestModelIsRemovedWithEverythingItOwns(t *testing.T) {
	store := statetest.Embedded(t, nil)
	w := newController(t, store)
	one, two, shared := w.twins()
	_, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bob", Password: "Bob's", Creator: statetest.Admin})
	w.ok(err)
	for _, st := range []*state.State{one, two} {
		w.ok(w.ctrl.GrantModel(w.ctx, st.UUID(), "bob", "read", statetest.Admin))
		w.ok(w.ctrl.NoteLogin(w.ctx, "bob", st.UUID()))
	}
	watch, err := one.Watches().Status(w.ctx)
	w.ok(err)
	<-watch

	w.refused(w.ctrl.RemoveModel(w.ctx, one.UUID()), entity.InUse, `cannot remove model "one": it is alive`)
	w.beginRemoval(one)
	w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
	<-one.Done()
	if _, open := <-watch; open {
		t.Error("a watch of the model did not end")
	}
	_, err = w.ctrl.Model(w.ctx, one.UUID())
	w.refused(err, entity.NotFound, "not found")
	_, err = one.Status(w.ctx)
	w.refused(err, entity.NotFound, "not found")
	_, err = one.AddMachine(w.ctx, state.AddMachineParams{})
	w.refused(err, entity.NotFound, "not found")
	_, err = one.Charms().Add(w.ctx, shared, "")
	w.refused(err, entity.NotFound, "not found")
	// The name stays taken until everything is gone.
	_, err = w.addModel("one")
	w.refused(err, entity.AlreadyExists, `model "one" for admin already exists`)
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	if len(rows) != 3 || !rows[1].IsRemoving() || rows[2].IsRemoving() {
		t.Errorf("the models are %+v", rows)
	}
	// Cleaning up outside of the store fails at first.
	left, err := statetest.ResumeModels(w.ctx, w.ctrl, func(_ context.Context, row controller.ModelRow) error {
		if row.UUID != one.UUID() {
			t.Errorf("model %q was removed too", row.Name)
		}
		return errors.New("the cloud is away")
	})
	if left != 1 || err != nil {
		t.Errorf("%d models are left, %v", left, err)
	}
	w.checkResumed()
	w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
	statetest.CheckModels(t, w.ctrl, store)
	all, err := statetest.TakeSnapshot(t.Context(), store)
	w.ok(err)
	if users, logins := all.Values(t, "modelusers", "model"), all.Values(t, "logins", "_id"); !slices.Equal(users,
		[]string{two.UUID()}) ||
		!slices.Equal(logins, []string{two.UUID() + "#bob", "bob"}) &&
			!slices.Equal(logins, []string{"bob", two.UUID() + "#bob"}) {
		t.Errorf("grants are left on %v, and logins %v", users, logins)
	}
	again := w.mustAddModel("one")
	if again.UUID() == one.UUID() {
		t.Error("a UUID was reused")
	}
	w.beginRemoval(two)
	w.checkResumed()
	statetest.CheckModels(t, w.ctrl, store)
	statetest.Charm(t, again, statetest.MySQL)
	statetest.CheckModels(t, w.ctrl, store)
}

// A model that is removed while another controller opens it leaves no database behind,
// though opening makes collections that are missing.
func TestModelIsRemovedWhileItIsOpened(t *testing.T) {
	store := statetest.Embedded(t, nil)
	w := newController(t, store)
	// The other controller's program has an upgrade step, which takes its time.
	var uuid string
	reached, release := make(chan struct{}), make(chan struct{})
	slow := step("this takes long", func(_ context.Context, db *mongo.Database) error {
		if db.Name() == uuid {
			close(reached)
			<-release
		}
		return nil
	})
	other, err := controller.Open(w.ctx, store, withSteps(nil, []schema.Step{slow}))
	w.ok(err)
	defer other.Close()
	w.st = w.mustAddModel("one")
	uuid = w.st.UUID()
	opened := make(chan error)
	go func() {
		_, err := other.Model(w.ctx, uuid)
		opened <- err
	}()
	<-reached
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(w.ctrl.RemoveModel(w.ctx, uuid))
	w.checkResumed()
	close(release)
	w.refused(<-opened, entity.NotFound, "not found")
	names, err := store.Databases(t.Context())
	w.ok(err)
	if slices.Contains(names, uuid) {
		t.Error("the database of the model is left")
	}
}

// Models are created, used, watched, and removed by two controllers,
// concurrently. No goroutine, connection, database or name is left.
func TestManyModelsLeakNothing(t *testing.T) {
	store := statetest.Embedded(t, nil)
	w := newController(t, store)
	other := reopen(t, store)
	shared := statetest.CharmArchive(t, statetest.MySQL)
	life := func(name string) error {
		st, err := w.addModel(name)
		if err != nil {
			return err
		}
		if _, err := st.Charms().Add(w.ctx, shared, ""); err != nil {
			return err
		}
		watch, err := st.Watches().Machines(w.ctx)
		if err != nil {
			return err
		}
		<-watch
		if err := errors.Join(st.Destroy(w.ctx, entity.Destruction{}), st.EnsureDead(w.ctx),
			w.ctrl.RemoveModel(w.ctx, st.UUID())); err != nil {
			return err
		}
		if _, open := <-watch; open {
			return errors.New("a watch did not end")
		}
		return nil
	}
	lives := func(n int) {
		t.Helper()
		var all errgroup.Group
		for i := range n {
			all.Go(func() error { return life(fmt.Sprint("m", i)) })
		}
		w.ok(all.Wait())
		all.Go(func() error { _, err := statetest.ResumeModels(w.ctx, other.ctrl, statetest.Nowhere); return err })
		all.Go(func() error { _, err := statetest.ResumeModels(w.ctx, w.ctrl, statetest.Nowhere); return err })
		w.ok(all.Wait())
		w.checkResumed()
	}
	const models, rounds = 5, 20
	lives(models)
	statetest.CheckModels(t, w.ctrl, store)
	before, open := runtime.NumGoroutine(), connections(w, store)
	for range rounds {
		lives(models)
	}
	statetest.CheckModels(t, w.ctrl, store)
	// mgo keeps as many connections as were ever used at once, so that a few more say nothing; a leak leaves one or more for
	// each model.
	more := max(0, connections(w, store)-open)
	if more > rounds*models/2 {
		t.Errorf("%d more connections are open after %d models, there were %d before", more, rounds*models, open)
	}
	// Both ends of each connection have goroutines. Give those that end with one time to do so.
	limit := before + 30 + 3*more
	for began := time.Now(); runtime.NumGoroutine() > limit; runtime.Gosched() {
		if time.Since(began) > verify.Patience {
			t.Fatalf("%d goroutines are running, there were %d before", runtime.NumGoroutine(), before)
		}
	}
}

// What the forced removal of a model can't remove from the cloud is a leftover of its owner. It keeps the credential that
// reaches it, and is gone once the cloud answers. Force counts also when it comes during the removal.
func TestForcedRemovalLeavesWhatTheCloudKeeps(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Now())
	w.ok(n.AddCloudCredential(w.ctx, "ops", keyed("K")))
	w.ok(n.SetModelCredential(w.ctx, w.st.UUID(), "ops"))
	other := w.mustAddModel("other")
	st, err := n.Model(w.ctx, w.st.UUID())
	w.ok(err)
	statetest.BeginRemoval(t, n.Controller, st)
	w.refused(n.DestroyModel(w.ctx, other.UUID()+"x", entity.Forced()), entity.NotFound, "not found")

	why := entity.WithHint(errors.New("no such region"), "rm -r /cloud")
	resume := func(wantUnfinished int, outside error) (left []entity.Leftover) {
		t.Helper()
		unfinished, err := statetest.ResumeModels(w.ctx, n.Controller, func(ctx context.Context, row controller.ModelRow) error {
			if _, bounded := ctx.Deadline(); !bounded || row.UUID != st.UUID() || row.Credential != "ops" {
				t.Errorf("what is outside the store is removed for %+v, within a time: %v", row, bounded)
			}
			return outside
		})
		if unfinished != wantUnfinished || err != nil {
			t.Errorf("%d models are left, want %d, %v", unfinished, wantUnfinished, err)
		}
		left, err = n.ModelLeftovers(w.ctx, "ADMIN")
		w.ok(err)
		return left
	}
	n.passes(state.CloudTimeout)
	resume(1, why) // it was not destroyed with force
	w.ok(n.DestroyModel(w.ctx, st.UUID(), entity.Destruction{}))
	resume(1, why)
	w.ok(n.DestroyModel(w.ctx, st.UUID(), entity.Forced()))
	w.ok(n.DestroyModel(w.ctx, st.UUID(), entity.Forced()))
	n.passes(-time.Second)
	resume(1, why) // the cloud has some time
	n.passes(time.Second)
	left := resume(0, why)
	if len(left) != 1 || left[0].ID != st.UUID() || left[0].Of != st.UUID() || left[0].What != `instances of model "default"` ||
		left[0].Where != "cloud dummy" || left[0].Why != "no such region" || left[0].How != "rm -r /cloud" || left[0].At.IsZero() {
		t.Errorf("leftovers are %+v", left)
	}
	if left, err := n.ModelLeftovers(w.ctx, "somebody else"); len(left) > 0 || err != nil {
		t.Errorf("another user sees %v, %v", left, err)
	}
	w.refused(n.RemoveCloudCredential(w.ctx, "ops"), entity.InUse, "models use it: "+statetest.Admin+"/default")
	again := w.mustAddModel("default")
	if left := resume(0, errors.New("busy")); len(left) != 1 || left[0].Why != "no such region" {
		t.Errorf("after a second try the leftovers are %+v", left)
	}
	if left := resume(0, nil); len(left) > 0 {
		t.Errorf("leftovers remain: %v", left)
	}
	w.ok(n.RemoveCloudCredential(w.ctx, "ops"))

	// Force from before the removal counts too, and without a hint there is another one.
	w.ok(again.Destroy(w.ctx, entity.Forced()))
	w.ok(again.EnsureDead(w.ctx))
	w.ok(n.RemoveModel(w.ctx, again.UUID()))
	n.passes(state.CloudTimeout)
	unfinished, err := statetest.ResumeModels(w.ctx, n.Controller, func(context.Context, controller.ModelRow) error { return errors.New("busy") })
	w.ok(err)
	left, err = n.ModelLeftovers(w.ctx, "")
	w.ok(err)
	if unfinished != 0 || len(left) != 1 || !strings.Contains(left[0].How, "tagged with model "+again.UUID()) {
		t.Errorf("%d models are left, the leftovers are %+v", unfinished, left)
	}
}

// The filesystems that a model leaves are the removal's to destroy. It can't release them any more, and a leftover names them.
func TestRemovalDestroysFilesystems(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Now())
	model := w.store.Open(w.st.UUID())
	w.ok(model.With(w.ctx, "leftovers", func(c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "x", "what": "filesystem fs-1", "filesystem": "fs-1"})
	}))
	model.Close(errors.New("it is damaged"))
	w.ok(w.st.Destroy(w.ctx, entity.Forced()))
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(n.RemoveModel(w.ctx, w.st.UUID()))
	destroys := func(want ...string) (left []entity.Leftover) {
		t.Helper()
		tried := false
		_, err := statetest.ResumeModels(w.ctx, n.Controller, func(_ context.Context, row controller.ModelRow) error {
			tried = true
			w.same("the filesystems to destroy", row.Filesystems, want)
			return errors.New("busy")
		})
		if w.ok(err); !tried {
			t.Error("nothing is destroyed")
		}
		left, err = n.ModelLeftovers(w.ctx, "")
		w.ok(err)
		return left
	}
	if left := destroys("fs-1"); len(left) > 0 {
		t.Errorf("the leftovers are %+v", left)
	}
	row, err := n.ModelRow(w.ctx, w.st.UUID())
	w.ok(err)
	if !row.Forced || len(row.Filesystems) != 1 || !row.IsRemoving() || row.Removing.IsZero() {
		t.Errorf("the model is %+v", row)
	}
	w.refused(n.DestroyModel(w.ctx, row.UUID, entity.Destruction{Release: true}), entity.NotAlive,
		`cannot release storage of model "default": the cloud is destroying filesystem fs-1`)
	w.ok(w.store.Drop(w.ctx, row.UUID)) // the controller ends after that
	n.passes(state.CloudTimeout)
	left := destroys("fs-1")
	if len(left) != 1 || left[0].What != `instances of model "default", and its filesystem fs-1,` {
		t.Errorf("the leftovers are %+v", left)
	}
	destroys("fs-1")
}

// connections returns the number of open connections to the store.
func connections(w *world, store *mongo.Store) int {
	w.Helper()
	session := store.Session()
	defer session.Close()
	var status struct {
		Connections struct {
			Current int `bson:"current"`
		} `bson:"connections"`
	}
	w.ok(session.DB("admin").Run("serverStatus", &status))
	return status.Connections.Current
}
