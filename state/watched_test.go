package state_test

import (
	"sync/atomic"
	"testing"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A twoSided is a world on a simulated MongoDB that another controller uses too. The reads of the first are counted.
type twoSided struct {
	*world
	set   *mongotest.Set
	reads atomic.Int64
	other *state.State // the same model
}

func newTwoSided(t *testing.T) *twoSided {
	t.Helper()
	return newTwoSidedOn(t, mongotest.NewSet(t, 1))
}

func newTwoSidedOn(t *testing.T, set *mongotest.Set) *twoSided {
	t.Helper()
	w := &twoSided{set: set}
	w.set.Heard = func(c mongotest.Command) {
		if c.Reads() && c.Client == "first" {
			w.reads.Add(1)
		}
	}
	url, err := mongo.ParseURL(w.set.URL())
	statetest.OK(t, err)
	open := func(dial mongo.Dial) *mongo.Store {
		store, err := mongo.OpenURL(t.Context(), url, mongo.Options{Dial: dial, Hooks: mongotest.NewHooks()})
		statetest.OK(t, err)
		return store
	}
	store := open(w.set.DialAs("first"))
	ctrl, st := statetest.ControllerOn(t, store, controller.Options{Shared: true})
	w.world = &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st, store: store}
	beside := open(w.set.Dial)
	ctrl, err = controller.Open(w.ctx, beside, controller.Options{Shared: true})
	w.ok(err)
	t.Cleanup(func() {
		ctrl.Close()
		w.ok(beside.Close())
	})
	w.other, err = ctrl.Model(w.ctx, st.UUID())
	w.ok(err)
	return w
}

// watched reads a machine as the first controller's watches have reported it.
func (w *twoSided) watched(id string) entity.MachineInfo {
	w.Helper()
	m, err := w.st.Agents().AsWatched().Machine(w.ctx, id)
	w.ok(err)
	info, err := m.Info(w.ctx)
	w.ok(err)
	return info
}

// provision gives a machine an instance through one of the controllers.
func (w *twoSided) provision(by *state.State, id, instance string) {
	w.Helper()
	m, err := by.Machine(w.ctx, id)
	w.ok(err)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: instance, Nonce: "n"}))
}

// keptMachine adds a machine, and returns its id once it is kept.
func (w *twoSided) keptMachine(events <-chan struct{}) string {
	w.Helper()
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	until(w.T, events, func(struct{}) bool {
		w.watched(m.ID())
		before := w.reads.Load()
		w.watched(m.ID())
		return w.reads.Load() == before
	})
	return m.ID()
}

func TestAChangeIsReadAtOnceByWhoMadeIt(t *testing.T) {
	w := newTwoSided(t)
	events, err := w.st.Watches().Status(w.ctx)
	w.ok(err)
	id := w.keptMachine(events)
	for i := range 200 { // often enough that some are read before their events come
		want := []entity.StatusWord{entity.StatusPending, entity.StatusStarted}[i%2]
		w.ok(w.machine(id).SetStatus(w.ctx, entity.Status{Status: want}))
		if got := w.watched(id).Status; got != want {
			t.Fatalf("change %d: the status is %q, want %q", i, got, want)
		}
	}
}

func TestAnEventComesAfterWhatItReportsCanBeRead(t *testing.T) {
	w := newTwoSided(t)
	events, err := w.st.Watches().Status(w.ctx)
	w.ok(err)
	id := w.keptMachine(events)
	w.provision(w.other, id, "i-1")
	until(t, events, func(struct{}) bool { return w.watched(id).InstanceID == "i-1" })
	m, err := w.other.Machine(w.ctx, id)
	w.ok(err)
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	until(t, events, func(struct{}) bool { return w.watched(id).Status == entity.StatusStarted })
}

func TestAnAgentThatMovedReadsEverythingAnew(t *testing.T) {
	w := newTwoSided(t)
	events, err := w.st.Watches().Status(w.ctx)
	w.ok(err)
	id := w.keptMachine(events)
	w.provision(w.other, id, "i-1")
	w.st.Agents().Moved()
	if got := w.watched(id).InstanceID; got != "i-1" {
		t.Errorf("the instance is %q", got)
	}
}

func TestUsersReadWhatOtherControllersHaveChanged(t *testing.T) {
	w := newTwoSided(t)
	events, err := w.st.Watches().Status(w.ctx)
	w.ok(err)
	id := w.keptMachine(events)
	w.provision(w.other, id, "i-1")
	if got := w.machine(id).InstanceID(); got != "i-1" {
		t.Errorf("the instance is %q", got)
	}
}

// On a MongoDB without transactions, what was read may be rolled back when the primary is replaced, while the stream of
// changes goes on.
func TestThereAreNoCopiesOfWhatMayBeRolledBack(t *testing.T) {
	w := newTwoSidedOn(t, mongotest.NewSet36(t, 3))
	events, err := w.st.Watches().Status(w.ctx)
	w.ok(err)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	<-events
	for range 3 {
		before := w.reads.Load()
		w.watched(m.ID())
		if w.reads.Load() == before {
			t.Error("copies were used")
		}
	}
}

func TestWhatWatchesReportCanNotBeChanged(t *testing.T) {
	w := newWorld(t)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	watched, err := w.st.Agents().AsWatched().Machine(w.ctx, m.ID())
	w.ok(err)
	if err := watched.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}); err == nil {
		t.Error("the status was set")
	}
}
