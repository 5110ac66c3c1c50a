package state_test

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
	r := newRecorder(t)
	w := newController(t, r.store)
	points := r.record(func() { w.mustAddModel("one") })
	for i, p := range some(t, points) {
		store := newStore(t, nil)
		p.restore(t, store)
		w := &world{T: t, ctx: t.Context()}
		w.open(store)
		if i%2 == 0 {
			w.checkResumed()
			w.checkStore(store)
		}
		// If it is not gone, adding it again completes it.
		st, err := w.addModel("one")
		if !errors.Is(err, entity.AlreadyExists) {
			w.ok(err)
			_, err = st.AddMachine(w.ctx, state.AddMachineParams{})
			w.ok(err)
		}
		w.checkResumed()
		w.checkStore(store)
	}
}

func TestKillDuringModelRemoval(t *testing.T) {
	r := newRecorder(t)
	w := newController(t, r.store)
	one, _, _ := w.twins()
	w.ok(one.Destroy(w.ctx, entity.Destruction{}))
	w.ok(one.EnsureDead(w.ctx))
	points := r.record(func() {
		w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
		w.checkResumed()
	})
	w.checkStore(r.store)
	for _, p := range some(t, points) {
		store := newStore(t, nil)
		p.restore(t, store)
		w := &world{T: t, ctx: t.Context()}
		w.open(store)
		w.ok(w.ctrl.RemoveModel(w.ctx, one.UUID()))
		w.checkResumed()
		w.checkStore(store)
		w.mustAddModel("one")
	}
}

// Whichever message to the store was the last, the charm can be added again,
// and is removed with its model.
func TestKillDuringAddCharm(t *testing.T) {
	r := newRecorder(t)
	w := newController(t, r.store)
	one := w.mustAddModel("one")
	archive := statetest.CharmArchive(t, statetest.MySQL)
	add := func(st *state.State) {
		t.Helper()
		_, err := st.Charms().Add(t.Context(), archive, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	points := r.record(func() { add(one) })
	for i, p := range some(t, points) {
		store := newStore(t, nil)
		p.restore(t, store)
		w := &world{T: t, ctx: t.Context()}
		w.open(store)
		st, err := w.ctrl.Model(w.ctx, one.UUID())
		w.ok(err)
		if i%2 == 0 {
			add(st)
			w.checkStore(store)
			add(w.mustAddModel("two"))
			w.checkStore(store)
		}
		w.beginRemoval(st)
		w.checkResumed()
		w.checkStore(store)
	}
}

// Whichever message to the store was the last, the model is removed in the end.
func TestKillDuringDestroyModel(t *testing.T) {
	r := newRecorder(t)
	w := newController(t, r.store)
	w.st = w.mustAddModel("one")
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("riak", statetest.Riak, 1)
	w.started("mysql/0")
	w.provisioned("0")
	points := r.record(func() {
		w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
		w.clean()
		w.ended()
		w.ok(w.st.EnsureDead(w.ctx))
	})
	uuid := w.st.UUID()
	for _, p := range some(t, points) {
		store := newStore(t, nil)
		p.restore(t, store)
		w := &world{T: t, ctx: t.Context()}
		w.open(store)
		var err error
		w.st, err = w.ctrl.Model(w.ctx, uuid)
		w.ok(err)
		w.checkCounts()
		if life, err := w.st.Life(w.ctx); err != nil || life == entity.Alive {
			w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
		}
		w.clean()
		w.ended()
		w.ok(w.st.EnsureDead(w.ctx))
		w.ok(w.ctrl.RemoveModel(w.ctx, uuid))
		w.checkResumed()
		w.checkStore(store)
	}
}
