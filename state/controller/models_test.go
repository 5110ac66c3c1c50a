package controller_test

import (
	"sync"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
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
