package state_test

import (
	"testing"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// Whichever message to the store was the last, the model is removed in the end.
func TestKillDuringDestroyModel(t *testing.T) {
	r := statetest.NewRecorder(t)
	w := &world{T: t, ctx: t.Context(), ctrl: statetest.OpenController(t, r.Store, controller.Options{})}
	defer w.ctrl.Close()
	w.st = statetest.AddModel(t, w.ctrl, "one")
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("riak", statetest.Riak, 1)
	w.started("mysql/0")
	w.provisioned("0")
	points := r.Record(func() {
		w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
		w.clean()
		w.ended()
		w.ok(w.st.EnsureDead(w.ctx))
	})
	uuid := w.st.UUID()
	for _, p := range statetest.Some(t, points) {
		store := statetest.Embedded(t, nil)
		p.Restore(t, store)
		w := &world{T: t, ctx: t.Context(), ctrl: statetest.ReopenController(t, store, controller.Options{})}
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
		statetest.CheckResumed(t, w.ctrl)
		statetest.CheckModels(t, w.ctrl, store)
		w.ctrl.Close()
	}
}
