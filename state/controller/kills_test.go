package controller_test

import (
	"errors"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Whichever message to the store was the controller's last, the next controller
// finds a model that is complete or gone, and its name with it.
func TestKillDuringAddModel(t *testing.T) {
	r := statetest.NewRecorder(t)
	w := newController(t, r.Store)
	points := r.Record(func() { w.mustAddModel("one") })
	for i, p := range statetest.Some(t, points) {
		store := statetest.Embedded(t, nil)
		p.Restore(t, store)
		w := reopen(t, store)
		if i%2 == 0 {
			w.checkResumed()
			statetest.CheckModels(t, w.ctrl, store)
		}
		// If it is not gone, adding it again completes it.
		st, err := w.addModel("one")
		if !errors.Is(err, entity.AlreadyExists) {
			w.ok(err)
			_, err = st.AddMachine(w.ctx, state.AddMachineParams{})
			w.ok(err)
		}
		w.checkResumed()
		statetest.CheckModels(t, w.ctrl, store)
	}
}

func TestKillDuringModelRemoval(t *testing.T) {
	r := statetest.NewRecorder(t)
	w := newController(t, r.Store)
	one, _, _ := w.twins()
	w.ok(one.Destroy(w.ctx, entity.Destruction{}))
	w.ok(one.EnsureDead(w.ctx))
	points := r.Record(func() {
		w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
		w.checkResumed()
	})
	statetest.CheckModels(t, w.ctrl, r.Store)
	for _, p := range statetest.Some(t, points) {
		store := statetest.Embedded(t, nil)
		p.Restore(t, store)
		w := reopen(t, store)
		w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
		w.checkResumed()
		statetest.CheckModels(t, w.ctrl, store)
		w.mustAddModel("one")
	}
}

// Whichever message to the store was the last, the charm can be added again,
// and is removed with its model.
func TestKillDuringAddCharm(t *testing.T) {
	r := statetest.NewRecorder(t)
	w := newController(t, r.Store)
	one := w.mustAddModel("one")
	archive := statetest.CharmArchive(t, statetest.MySQL)
	add := func(st *state.State) {
		t.Helper()
		_, err := st.Charms().Add(t.Context(), archive, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	points := r.Record(func() { add(one) })
	for i, p := range statetest.Some(t, points) {
		store := statetest.Embedded(t, nil)
		p.Restore(t, store)
		w := reopen(t, store)
		st, err := w.ctrl.Model(w.ctx, one.UUID())
		w.ok(err)
		if i%2 == 0 {
			add(st)
			statetest.CheckModels(t, w.ctrl, store)
			add(w.mustAddModel("two"))
			statetest.CheckModels(t, w.ctrl, store)
		}
		w.beginRemoval(st)
		w.checkResumed()
		statetest.CheckModels(t, w.ctrl, store)
	}
}
