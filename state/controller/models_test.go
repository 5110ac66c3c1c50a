package controller_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
	"juju/state/statetest"
)

func TestConcurrentAddModelOfOneName(t *testing.T) {
	w := newWorld(t)
	p := statetest.NamedModel("twice")
	var one *state.State
	w.before(func() {
		var err error
		one, err = w.ctrl.AddModel(w.ctx, p)
		w.ok(err)
	})
	_, err := w.ctrl.AddModel(w.ctx, p)
	w.refused(err, entity.AlreadyExists, `model "twice" for admin already exists`)
	models, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	n := 0
	for _, m := range models {
		if m.Name == "twice" && m.UUID == one.UUID() {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the model exists %d times: %v", n, models)
	}
}

// A controller stops creating a model that others have given up meanwhile.
func TestAddModelStopsOnceGivenUp(t *testing.T) {
	store := statetest.Embedded(t, nil)
	w := newController(t, store)
	other := reopen(t, store)
	for name, meanwhile := range map[string]func(){
		"taken":   func() { other.mustAddModel("taken") },
		"removed": other.checkResumed,
	} {
		w.beforeNext(1, meanwhile) // before the existing row becomes ready
		_, err := w.addModel(name)
		w.refused(err, entity.Unavailable, "another controller has taken it over or removed it; try again")
		w.checkResumed()
		statetest.CheckModels(t, other.ctrl, store)
	}
	rows, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	if len(rows) != 2 || rows[1].Name != "taken" {
		t.Errorf("the models are %+v", rows)
	}
	w.mustAddModel("removed")
}

// On a shared store, an incomplete model is given up only after no progress for
// a long time.
func TestModelBeingCreatedIsNotRemoved(t *testing.T) {
	store := statetest.Embedded(t, nil)
	w := newController(t, store)
	now := time.Now()
	var mu sync.Mutex
	other, err := controller.Open(w.ctx, store, controller.Options{Shared: true, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	w.ok(err)
	defer other.Close()
	look := func(want int) {
		t.Helper()
		left, err := statetest.ResumeModels(w.ctx, other, statetest.Nowhere)
		if left != want || err != nil {
			t.Errorf("%d models are left, want %d, %v", left, want, err)
		}
		_, err = other.AddModel(w.ctx, statetest.NamedModel("one"))
		if want > 0 {
			w.refused(err, entity.AlreadyExists, `model "one" for admin already exists`)
		}
	}
	w.beforeNext(1, func() {
		look(1)
		mu.Lock()
		now = now.Add(time.Minute)
		mu.Unlock()
		look(1)
		mu.Lock()
		now = now.Add(90 * time.Second)
		mu.Unlock()
		look(0)
	})
	_, err = w.addModel("one")
	w.refused(err, entity.Unavailable, "taken it over")
	statetest.CheckModels(t, w.ctrl, store)
}

// Models have unique names for each owner, and who watches them learns of those that are ready.
func TestModelsAreAddedAndWatched(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	row := controller.ModelRow{UUID: stray, Name: "half", Owner: "bob", Step: "creating", Creator: "somebody"}
	w.ok(w.db().Change(w.ctx, func(o *mongo.Ops) error { o.Insert("models", stray, row); return nil }))
	events, err := w.ctrl.WatchModels(w.ctx)
	w.ok(err)
	if first := <-events; len(first) != 2 {
		t.Errorf("the first event names %v, want the controller's model and the default one", first)
	}
	_, err = w.addModel("default")
	w.refused(err, entity.AlreadyExists, `cannot add model "default": model "default" for admin already exists`)
	w.same("the hint", entity.Hint(err), "")
	_, err = w.addModel("Bad Name")
	w.refused(err, entity.Invalid, "is not a valid name")
	_, err = w.addModel(state.ControllerModel)
	w.refused(err, entity.Invalid, `cannot add model "controller": that name is reserved`)
	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "x", Owner: "eve"})
	w.refused(err, entity.NotFound, `user "eve" not found`)
	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "x", Owner: "bob", Config: map[string]string{"test-mode": "x"}})
	w.refused(err, entity.Invalid, `cannot add model "x"`)
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "default", Owner: "bob", Series: "noble"})
	w.ok(err)
	w.named(events, st.UUID())
	again, err := w.ctrl.Model(w.ctx, st.UUID())
	if w.ok(err); again != st {
		t.Error("the model is opened a second time")
	}
	got, err := w.ctrl.ModelRow(w.ctx, st.UUID())
	w.ok(err)
	if got.Name != "default" || got.Owner != "bob" || got.Series != "noble" || got.Creator != "" || got.Created.IsZero() || got.IsRemoving() {
		t.Errorf("the model is %+v", got)
	}
	rows, err := w.ctrl.Models(w.ctx) // without the one that is not ready
	if w.ok(err); len(rows) != 3 || rows[0].Name != "controller" || rows[1].Name != "default" || rows[2].Name != "default" {
		t.Errorf("the models are %+v", rows)
	}
	_, err = w.ctrl.Model(w.ctx, stray)
	w.refused(err, entity.NotFound, "not found")
	w.refused(w.ctrl.DestroyModel(w.ctx, stray, entity.Forced()), entity.NotFound, "not found")
	w.refused(w.ctrl.DestroyModel(w.ctx, rows[0].UUID, entity.Forced()), entity.Invalid, "is a controller")
	statetest.BeginRemoval(t, w.ctrl, st)
	w.named(events, st.UUID())
	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "default", Owner: "bob"})
	w.refused(err, entity.AlreadyExists, `model "default" for bob already exists`)
	w.same("the hint", entity.Hint(err), "It is still being removed; try again in a moment.")
}

// A model whose creator died is finished by who adds it again, with the settings and the credential that are asked for then.
func TestAddModelFinishesWhatACreatorLeft(t *testing.T) {
	w := newController(t, statetest.Embedded(t, nil)) // alone
	w.ok(w.ctrl.AddCloudCredential(w.ctx, "ops", keyed("K")))
	row := controller.ModelRow{UUID: stray, Name: "half", Owner: statetest.Admin, Series: "jammy", Step: "creating", Creator: "somebody",
		Config: map[string]string{"http-proxy": "http://p:1", "automatically-retry-hooks": "true"}}
	w.ok(w.db().Change(w.ctx, func(o *mongo.Ops) error {
		o.Insert("models", stray, row)
		o.Insert("modelnames", "admin#half", bson.D{{"model", stray}})
		return nil
	}))
	shared := w.node(time.Now())
	_, err := shared.AddModel(w.ctx, statetest.NamedModel("half")) // its creator may be alive
	w.refused(err, entity.AlreadyExists, `model "half" for admin already exists`)
	w.same("the hint", entity.Hint(err), "It is being created; see juju models in a moment.")

	p := statetest.NamedModel("half")
	p.Config, p.Credential = map[string]string{"https-proxy": "http://p:2", "automatically-retry-hooks": "true"}, "ops"
	st, err := w.ctrl.AddModel(w.ctx, p)
	w.ok(err)
	w.same("the UUID", st.UUID(), stray)
	config, err := st.Settings().Config(w.ctx)
	w.ok(err)
	if config["http-proxy"].Source != modelconfig.FromDefault || config["https-proxy"].Value != "http://p:2" || !config.RetryHooks() {
		t.Errorf("the settings are %v", config)
	}
	got, err := w.ctrl.ModelRow(w.ctx, stray)
	w.ok(err)
	if got.Credential != "ops" || got.Creator != "" || got.Step != "ready" {
		t.Errorf("the model is %+v", got)
	}
	statetest.CheckModels(t, w.ctrl, w.store)
}

// A model whose creation fails, here because its request is cancelled, is removed, and its name is free.
func TestModelIsGivenUp(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(w.ctx)
	cancelled := errors.New("the client has gone")
	w.beforeNext(1, func() { cancel(cancelled) }) // before it becomes ready
	if _, err := w.ctrl.AddModel(ctx, statetest.NamedModel("one")); !errors.Is(err, cancelled) && !errors.Is(err, context.Canceled) {
		t.Errorf("the creation that is cancelled returns %v", err)
	}
	w.checkResumed()
	statetest.CheckModels(t, w.ctrl, w.store)
	w.mustAddModel("one")
}

// A model that is opened by many at once is opened once, and a controller that closes closes it.
func TestModelIsOpenedOnce(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Now())
	opened := make(chan *state.State, 8)
	var group sync.WaitGroup
	for range cap(opened) {
		group.Go(func() {
			st, err := n.Model(w.ctx, w.st.UUID())
			if err != nil {
				t.Error(err)
			}
			opened <- st
		})
	}
	group.Wait()
	first := <-opened
	for range cap(opened) - 1 {
		if st := <-opened; st != first {
			t.Error("the model is opened twice")
		}
	}
	n.Close()
	n.Close()
	<-first.Done()
	_, err := n.Model(w.ctx, w.st.UUID())
	w.refused(err, entity.Unavailable, "the controller is closing")
	w.ok(func() error { _, err := w.st.Status(w.ctx); return err }())
}
