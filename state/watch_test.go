package state_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func next[T any](t *testing.T, events <-chan T) T {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the watch ended")
		}
		return e
	case <-time.After(verify.Patience):
		t.Fatal("no event")
	}
	panic("unreachable")
}

// until reads events until holds reports true, which can depend on the event.
func until[T any](t *testing.T, events <-chan T, holds func(T) bool) {
	t.Helper()
	for !holds(next(t, events)) {
	}
}

// named reads events until one names all ids. It might name others that changed
// just before the watch began.
func named(t *testing.T, events <-chan []string, ids ...string) {
	t.Helper()
	until(t, events, func(e []string) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(e, id) })
	})
}

func TestWatchMachines(t *testing.T) {
	w := newWorld(t)
	events, err := w.st.Watches().Machines(w.ctx)
	w.ok(err)
	if first := next(t, events); len(first) != 0 {
		t.Errorf("first event names %v, want nothing", first)
	}
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	named(t, events, "0")
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted})) // changes no life
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	named(t, events, "0")
}

// A model ends once nothing is left in it, and an offer or a service of another model may be the last to go.
func TestWatchOfTheEndSeesOffersAndRemotes(t *testing.T) {
	w := newWorld(t)
	x := w.st.CrossModel()
	w.deploy("mysql", statetest.MySQL, 0)
	w.ok(x.AddOffer(w.ctx, entity.NewOffer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}}))
	w.ok(x.Consume(w.ctx, consumedDB))
	machines, err := w.st.Watches().Machines(w.ctx)
	w.ok(err)
	next(t, machines)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	named(t, machines, "0") // all earlier changes were published
	events, err := w.st.Watches().End(w.ctx)
	w.ok(err)
	next(t, events)
	remote, err := x.Remote(w.ctx, "db")
	w.ok(err)
	w.ok(remote.Destroy(w.ctx, plain))
	next(t, events)
	offer, err := x.Offer(w.ctx, "shop")
	w.ok(err)
	w.ok(offer.Destroy(w.ctx, plain))
	next(t, events)
}

func TestWatchDeployed(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	other, err := w.st.Watches().Deployed(w.ctx, entity.MachineTag("1"))
	w.ok(err)
	events, err := w.st.Watches().Deployed(w.ctx, entity.MachineTag("0"))
	w.ok(err)
	named(t, events, "mysql/0")
	next(t, other)
	_, err = s.AddUnits(w.ctx, 1, statetest.To("0"))
	w.ok(err)
	named(t, events, "mysql/1")
	u := w.started("mysql/0")
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	named(t, events, "mysql/0")
	w.end("mysql/0")
	until(t, events, func([]string) bool {
		units, err := w.st.Agents().Deployed(w.ctx, entity.MachineTag("0"))
		w.ok(err)
		return len(units) == 1
	})
	select {
	case e := <-other:
		t.Errorf("the other machine's deployer got %v", e)
	default:
	}
}

func TestWatchRelationUnits(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 2)
	w.deploy("mysql", statetest.MySQL, 1)
	r := w.relate("wordpress", "mysql")
	events, err := w.st.Watches().RelationUnits(w.ctx, "mysql/0", r.ID())
	w.ok(err)
	if first := next(t, events); len(first.Changed)+len(first.Departed) != 0 {
		t.Errorf("first event is %v", first)
	}
	w.ok(w.unit("mysql/0").EnterScope(w.ctx, r.ID())) // its own entering is no event
	wp0, wp1 := w.started("wordpress/0"), w.started("wordpress/1")
	w.ok(wp0.EnterScope(w.ctx, r.ID()))
	first := next(t, events).Changed
	if _, in := first["wordpress/0"]; !in || len(first) != 1 {
		t.Errorf("event is %v, want wordpress/0", first)
	}
	set := func(u *state.Unit, k, v string) {
		t.Helper()
		w.ok(u.CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{r.ID(): {k: v}}}))
	}
	set(wp0, "a.b$c", "1")
	second := next(t, events).Changed
	if second["wordpress/0"] == first["wordpress/0"] {
		t.Error("changed settings have the same version")
	}
	got, err := w.unit("mysql/0").RelationSettings(w.ctx, r.ID(), "wordpress/0")
	w.ok(err)
	if got["a.b$c"] != "1" {
		t.Errorf("settings are %v", got)
	}
	set(wp0, "a.b$c", "1") // a null change is no event
	w.ok(wp1.EnterScope(w.ctx, r.ID()))
	if e := next(t, events); len(e.Changed) != 1 || len(e.Departed) != 0 {
		t.Errorf("event is %v, want wordpress/1 alone", e)
	}
	w.ok(wp0.LeaveScope(w.ctx, r.ID()))
	if e := next(t, events); len(e.Changed) != 0 || !slices.Equal(e.Departed, []string{"wordpress/0"}) {
		t.Errorf("event is %v, want that wordpress/0 left", e)
	}
	// Its settings stay readable as long as the relation exists.
	got, err = w.unit("mysql/0").RelationSettings(w.ctx, r.ID(), "wordpress/0")
	w.ok(err)
	if got["a.b$c"] != "1" {
		t.Errorf("settings of a unit that left are %v", got)
	}
	// A unit of an unrelated service cannot read them.
	w.deploy("riak", statetest.Riak, 1)
	_, err = w.unit("riak/0").RelationSettings(w.ctx, r.ID(), "wordpress/0")
	w.refused(err, entity.NotFound, `service "riak" is not a member`)
}

// With a slow reader, a fast writer and a log that wraps, the reads after a
// watch's events still end up with the current state.
func TestWatchesMissNothing(t *testing.T) {
	ctrl, st := statetest.ControllerWith(t, controller.Options{Sizes: state.Sizes{Log: 8 << 10, History: 1 << 16}})
	w := &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	steps := 150
	if testing.Short() {
		steps = 40
	}

	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	events, err := st.Watches().Machines(ctx)
	w.ok(err)
	view := map[string]entity.Life{}
	finished := make(chan struct{})
	viewed := make(chan error, 1)
	go func() {
		want := func() bool {
			all, err := st.Machines(ctx)
			if err != nil {
				return false
			}
			truth := map[string]entity.Life{}
			for _, m := range all {
				truth[m.ID()] = m.Life()
			}
			return maps.Equal(truth, view)
		}
		deadline := time.After(verify.Patience)
		for {
			select {
			case ids := <-events:
				for _, id := range ids {
					if m, err := st.Machine(ctx, id); err == nil {
						view[id] = m.Life()
					} else {
						delete(view, id)
					}
				}
				for range r.IntN(3) { // slow
					st.Counts(ctx)
				}
			case <-deadline:
				viewed <- context.DeadlineExceeded
				return
			}
			select {
			case <-finished:
				if want() {
					viewed <- nil
					return
				}
			default:
			}
		}
	}()
	for i := range steps {
		switch m, err := st.Machine(w.ctx, strconv.Itoa(i/3)); {
		case i%3 == 0:
			_, err := st.AddMachine(w.ctx, state.AddMachineParams{})
			w.ok(err)
		case i%3 == 1:
			w.ok(err)
			w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-" + m.ID(), Nonce: "n"}))
		default:
			w.ok(err)
			w.ok(m.Destroy(w.ctx, entity.Destruction{}))
			if i%2 == 0 {
				w.ok(m.EnsureDead(w.ctx))
				w.ok(m.Remove(w.ctx))
			}
		}
	}
	close(finished)
	_, err = st.AddMachine(w.ctx, state.AddMachineParams{}) // an event to check the view on
	w.ok(err)
	if err := <-viewed; err != nil {
		t.Errorf("the view never matched the model: %v", err)
	}
}

func TestWatchEndsWithItsContextAndTheController(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.ctx)
	a, err := w.st.Watches().Machines(ctx)
	w.ok(err)
	b, err := w.st.Cleaner().WatchCleanups(w.ctx)
	w.ok(err)
	next(t, a)
	next(t, b)
	cancel()
	ended(t, a)
	w.ctrl.Close()
	ended(t, b)
}

func ended[T any](t *testing.T, events <-chan T) {
	t.Helper()
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		case <-time.After(verify.Patience):
			t.Fatal("the watch did not end")
		}
	}
}

// The watches of an agent tell it of the model's settings too.
func TestWatchesOfAgentsReportSettings(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	machines, err := w.st.Watches().Machines(w.ctx)
	w.ok(err)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	named(t, machines, "1") // the events of the deployment have passed
	unit, err := w.st.Watches().Unit(w.ctx, "mysql/0")
	w.ok(err)
	machine, err := w.st.Watches().Machine(w.ctx, "0")
	w.ok(err)
	next(t, unit)
	next(t, machine)
	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"logging-config": "<root>=DEBUG"}, nil))
	next(t, unit)
	next(t, machine)
}

// The agent of a subordinate hears that the relation to its principal ends. The agent of the principal does not from
// this watch: it has others for its relations.
func TestWatchOfASubordinateReportsItsRelation(t *testing.T) {
	w := newWorld(t)
	_, r := w.addSubordinate()
	machines, err := w.st.Watches().Machines(w.ctx)
	w.ok(err)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	named(t, machines, "1") // the events of the deployment have passed
	principal, err := w.st.Watches().Unit(w.ctx, "mysql/0")
	w.ok(err)
	subordinate, err := w.st.Watches().Unit(w.ctx, "logging/0")
	w.ok(err)
	next(t, principal)
	next(t, subordinate)
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	next(t, subordinate)
	info, err := w.unit("logging/0").Info(w.ctx)
	w.ok(err)
	if !info.OrphanedBySubRel {
		t.Error("the subordinate is not reported as an orphan")
	}
	select {
	case <-principal:
		t.Error("the principal's agent is woken too")
	default:
	}
}
