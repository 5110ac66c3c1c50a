package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/agent/binaries"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// A turnWorld has controllers that are upgraded, as far as their turners know, on a real store. They are killed at any of
// their steps, and started again.
type turnWorld struct {
	*testing.T
	ctrl    *controller.Controller
	nodes   []*turnNode
	leader  string
	now     time.Time
	crashes func() bool // asked before and after each step; nil for never
}

// A turnNode is one of the controllers. What a process knows is lost with it; the directory stays.
type turnNode struct {
	*turnWorld
	id     string
	record binaries.Record
	runs   entity.Binaries // "" if no process runs
	down   int             // for how many rounds
	breaks int             // how many starts of the new binaries fail
	turns  bool            // it is down because of its turn
	serves bool
}

var oldBinaries, newBinaries = entity.Binaries{Version: "0.1.0"}, entity.Binaries{Version: "0.2.0", SHA256: strings.Repeat("ab", 32)}

func newTurnWorld(t *testing.T, n int) *turnWorld {
	w := &turnWorld{T: t, now: time.Now(), leader: "0"}
	w.ctrl, _ = statetest.ControllerOn(t, statetest.Store(t, mongo.Options{}),
		controller.Options{Shared: true, Now: func() time.Time { return w.now }})
	for i := range n {
		w.nodes = append(w.nodes, &turnNode{turnWorld: w, id: fmt.Sprint(i)})
		w.nodes[i].start()
	}
	return w
}

func (w *turnWorld) ok(err error) {
	w.Helper()
	statetest.OK(w, err)
}

func (w *turnWorld) upgrade(ctx context.Context) *entity.ControllerUpgrade {
	w.Helper()
	u, err := w.ctrl.NodeUpgrade(ctx)
	w.ok(err)
	return u
}

// errCrash is what a process that is killed panics with.
var errCrash = errors.New("killed")

func (w *turnWorld) mayCrash() {
	if w.crashes != nil && w.crashes() {
		panic(errCrash)
	}
}

// crashing calls a step of a process, which may be killed before and after it.
func crashing[T any](w *turnWorld, step func() (T, error)) (T, error) {
	w.mayCrash()
	result, err := step()
	w.mayCrash()
	return result, err
}

func crashingStep(w *turnWorld, step func() error) error {
	_, err := crashing(w, func() (bool, error) { return true, step() })
	return err
}

// The store and the directory, as processes see them.
func (n *turnNode) NodeUpgrade(ctx context.Context) (*entity.ControllerUpgrade, error) {
	return crashing(n.turnWorld, func() (*entity.ControllerUpgrade, error) { return n.ctrl.NodeUpgrade(ctx) })
}

func (n *turnNode) TakeTurn(ctx context.Context, node string, to entity.Binaries) (bool, error) {
	return crashing(n.turnWorld, func() (bool, error) { return n.ctrl.TakeTurn(ctx, node, to) })
}

func (n *turnNode) NodeChanged(ctx context.Context, node string, to entity.Binaries) error {
	return crashingStep(n.turnWorld, func() error { return n.ctrl.NodeChanged(ctx, node, to) })
}

func (n *turnNode) NodeFailed(ctx context.Context, node string, turn int, why string) error {
	return crashingStep(n.turnWorld, func() error { return n.ctrl.NodeFailed(ctx, node, turn, why) })
}

func (n *turnNode) EndNodeUpgrade(ctx context.Context, to entity.Binaries) error {
	return crashingStep(n.turnWorld, func() error { return n.ctrl.EndNodeUpgrade(ctx, to) })
}

func (n *turnNode) Record() (binaries.Record, error) { return n.record, nil }

func (n *turnNode) Forgive() error {
	return crashingStep(n.turnWorld, func() error { n.record.Failed = nil; return nil })
}

func (n *turnNode) Revert(why string) (bool, error) {
	return crashing(n.turnWorld, func() (bool, error) {
		if !n.record.Trial {
			return false, nil
		}
		n.record = binaries.Record{Current: n.record.Previous,
			Failed: &entity.FailedUpgrade{Binaries: n.record.Current, Error: why}}
		return true, nil
	})
}

func (n *turnNode) turner() turner {
	return turner{id: n.id, store: n, dir: n, runs: func() entity.Binaries { return n.runs },
		now: func() time.Time { return n.now }, retry: firstTurnRetry,
		switchTo: func(_ context.Context, to entity.Binaries) error {
			return crashingStep(n.turnWorld, func() error {
				n.record = binaries.Record{Current: to, Previous: n.record.Current, Trial: true}
				return nil
			})
		},
		nodes: func(context.Context) (all []entity.ControllerNode, lost func(string) bool, err error) {
			for _, o := range n.nodes {
				runs := o.runs
				all = append(all, entity.ControllerNode{Machine: o.id, Version: runs.Version, SHA256: runs.SHA256,
					Up: o.down < missedBeats, Leads: o.id == n.leader})
			}
			return all, func(id string) bool { return n.node(id).down >= turnBeats }, nil
		}}
}

func (w *turnWorld) node(id string) *turnNode {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *turnNode) bool { return n.id == id })]
}

// protected calls a part of a process, which ends if it is killed.
func (n *turnNode) protected(part func()) {
	defer func() {
		if err := recover(); err == errCrash {
			n.runs, n.serves = entity.Binaries{}, false
		} else if err != nil {
			panic(err)
		}
	}()
	part()
}

// start starts the process, as often as it asks for.
func (n *turnNode) start() {
	n.Helper()
	n.protected(func() {
		for range 10 {
			if n.record.Trial && n.record.Starts == 3 {
				n.Revert("it did not come up in 3 starts")
			}
			if n.record.Trial {
				n.record.Starts++
			}
			n.runs = n.record.Current
			if n.runs.Version == "" {
				n.runs = oldBinaries
			}
			if n.runs == newBinaries && n.breaks > 0 {
				n.breaks--
				n.Revert("no such luck")
				continue
			}
			restart, err := n.turner().begin(n.Context())
			n.ok(err)
			if restart {
				continue
			}
			n.record.Trial, n.record.Starts = false, 0
			n.serves, n.turns, n.down = true, false, 0
			return
		}
		n.Fatalf("controller %s never comes up: %+v", n.id, n.record)
	})
}

// round lets a controller take a step.
func (n *turnNode) round(ctx context.Context) {
	n.Helper()
	if !n.serves {
		n.down++
		return
	}
	n.protected(func() {
		restart, err := n.turner().next(n.Context())
		n.ok(err)
		if !restart {
			return
		}
		n.runs, n.serves = entity.Binaries{}, false
	})
	if u := n.upgrade(ctx); !n.serves && u.Turn == n.id {
		n.turns = true
		for _, o := range n.nodes {
			if o != n && o.turns && o.down < turnBeats {
				n.Errorf("controllers %s and %s are down because of the upgrade", o.id, n.id)
			}
		}
	}
}

// settle lets all controllers go on until nothing changes any more.
func (w *turnWorld) settle(ctx context.Context) {
	w.Helper()
	for range 5 * len(w.nodes) {
		for _, n := range w.nodes {
			if !n.serves {
				n.start()
			}
			n.round(ctx)
		}
	}
}

// sees checks the versions of all controllers, the upgrade's state, and which controllers have failed how often.
func (w *turnWorld) sees(ctx context.Context, when, versions, state string) {
	w.Helper()
	var all, failed []string
	for _, n := range w.nodes {
		all = append(all, n.runs.Version)
	}
	u := w.upgrade(ctx)
	for _, f := range u.Failed {
		failed = append(failed, fmt.Sprintf("%s failed %d: %s", f.Machine, f.Tries, f.Error))
	}
	now := "done"
	if u.IsGoing() {
		now = "going"
	} else if u.Cancelled != "" {
		now = "cancelled: " + u.Cancelled
	}
	now = strings.Join(append([]string{now}, failed...), "; ")
	if got := strings.Join(all, " "); got != versions || now != state {
		w.Errorf("%s: %s, %s; want %s, %s", when, got, now, versions, state)
	}
}

func (w *turnWorld) begin(to entity.Binaries) error {
	return w.ctrl.BeginNodeUpgrade(w.Context(), to, "admin")
}

// They change one after another, and the one that leads is the last. Another upgrade is refused meanwhile.
func TestControllersChangeOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := newTurnWorld(t, 3)
	w.ok(w.begin(newBinaries))
	w.ok(w.begin(newBinaries)) // a repetition
	other := entity.Binaries{Version: "0.3.0", SHA256: strings.Repeat("cd", 32)}
	if err := w.begin(other); !errors.Is(err, entity.InUse) || !strings.Contains(err.Error(), "are being upgraded to 0.2.0") {
		t.Errorf("a second upgrade: %v", err)
	}
	for _, next := range []string{"1", "2", "0"} {
		for _, n := range w.nodes {
			n.round(t.Context())
		}
		if u := w.upgrade(t.Context()); u.Turn != next {
			t.Errorf("the turn is %q's, want %s: %+v", u.Turn, next, u)
		}
		for _, n := range w.nodes {
			if n.serves == (n.id == next) {
				t.Errorf("controller %s serves: %v, in the turn of %s", n.id, n.serves, next)
			}
			n.round(t.Context())
		}
		w.node(next).start()
		w.node(next).round(t.Context())
	}
	w.node("1").round(t.Context())
	w.sees(t.Context(), "at the end", "0.2.0 0.2.0 0.2.0", "done")
	w.ok(w.begin(other))
	w.settle(t.Context())
	if w.sees(t.Context(), "the next upgrade", "0.3.0 0.3.0 0.3.0", "done"); w.upgrade(t.Context()).Turns != 3 {
		t.Errorf("%+v", w.upgrade(t.Context()))
	}
}

// The first one that can't come up reverts, and that cancels the upgrade. A later one that can't is tried again after a
// while.
func TestControllersThatCannotChange(t *testing.T) {
	t.Parallel()
	w := newTurnWorld(t, 3)
	w.node("1").breaks = 1
	w.ok(w.begin(newBinaries))
	w.settle(t.Context())
	w.sees(t.Context(), "the first fails", "0.1.0 0.1.0 0.1.0", "cancelled: controller 1: no such luck; 1 failed 1: no such luck")
	w.node("2").breaks = 2
	w.ok(w.begin(newBinaries))
	w.settle(t.Context())
	w.sees(t.Context(), "a later one fails", "0.2.0 0.2.0 0.1.0", "going; 2 failed 1: no such luck")
	w.now = w.now.Add(firstTurnRetry + time.Second)
	w.settle(t.Context())
	w.sees(t.Context(), "it fails again", "0.2.0 0.2.0 0.1.0", "going; 2 failed 2: no such luck")
	w.now = w.now.Add(firstTurnRetry + time.Second)
	w.settle(t.Context())
	w.sees(t.Context(), "its pause grows", "0.2.0 0.2.0 0.1.0", "going; 2 failed 2: no such luck")
	other := entity.Binaries{Version: "0.3.0", SHA256: strings.Repeat("cd", 32)}
	w.ok(w.begin(other)) // which may repair what is wrong
	w.settle(t.Context())
	w.sees(t.Context(), "another upgrade", "0.3.0 0.3.0 0.3.0", "done")
}

// A controller on which newer binaries were installed by hand in its turn is not downgraded, and does not keep the turn.
func TestControllersAreNotDowngraded(t *testing.T) {
	t.Parallel()
	w := newTurnWorld(t, 2)
	w.ok(w.begin(newBinaries))
	w.node("1").round(t.Context())
	w.node("1").record = binaries.Record{Current: entity.Binaries{Version: "0.3.0"}}
	w.settle(t.Context())
	w.sees(t.Context(), "the first one", "0.1.0 0.3.0", "cancelled: controller 1: it runs version 0.3.0; 1 failed 1: it runs version 0.3.0")
	w.ok(w.begin(newBinaries))
	w.settle(t.Context())
	w.sees(t.Context(), "the other one", "0.2.0 0.3.0", "done")
}

// A controller that is down does not hold up the others. When it is back, it changes before it serves. One that disappears
// in its turn loses it, and reverts if the upgrade is cancelled by that.
func TestControllersThatAreDownDuringAnUpgrade(t *testing.T) {
	t.Parallel()
	w := newTurnWorld(t, 3)
	lost, gone := w.node("1"), w.node("2")
	gone.serves, gone.runs, gone.down = false, entity.Binaries{}, missedBeats
	w.ok(w.begin(newBinaries))
	lost.round(t.Context())
	if u := w.upgrade(t.Context()); u.Turn != "1" {
		t.Fatalf("it is the turn of %q", u.Turn)
	}
	for range turnBeats {
		w.node("0").round(t.Context())
		lost.round(t.Context())
	}
	w.node("0").round(t.Context())
	w.sees(t.Context(), "it is lost", "0.1.0  ", "cancelled: controller 1: it has not come up again; 1 failed 1: it has not come up again")
	lost.start()
	w.sees(t.Context(), "it is back", "0.1.0 0.1.0 ", "cancelled: controller 1: it has not come up again; 1 failed 1: it has not come up again")
	w.ok(w.begin(newBinaries))
	for range 5 {
		for _, n := range []*turnNode{w.node("0"), lost} {
			n.round(t.Context())
			if !n.serves {
				n.start()
			}
		}
	}
	w.sees(t.Context(), "those that are there", "0.2.0 0.2.0 ", "done")
	gone.start()
	gone.round(t.Context())
	if w.sees(t.Context(), "the last is back", "0.2.0 0.2.0 0.2.0", "done"); w.upgrade(t.Context()).Turns != 2 {
		t.Errorf("it had a turn: %+v", w.upgrade(t.Context()))
	}
}

// Whenever controllers are killed, no two are down because of the upgrade, and all are upgraded in the end.
func TestControllersAreKilledDuringAnUpgrade(t *testing.T) {
	t.Parallel()
	seeds := 40
	if testing.Short() {
		seeds = 15
	}
	first := rand.Uint64()
	for i := range seeds {
		seed := first + uint64(i)
		r := rand.New(rand.NewPCG(seed, 0))
		w := newTurnWorld(t, 1+r.IntN(4))
		for _, n := range w.nodes {
			if r.IntN(4) == 0 {
				n.breaks = r.IntN(3)
			}
		}
		w.crashes = func() bool { return r.IntN(12) == 0 }
		w.ok(w.begin(newBinaries))
		for range 150 {
			w.now = w.now.Add(time.Duration(r.IntN(120)) * time.Second)
			n := w.nodes[r.IntN(len(w.nodes))]
			switch {
			case !n.serves && r.IntN(3) == 0:
				n.start()
			case r.IntN(10) == 0:
				for range r.IntN(2 * turnBeats) { // time passes while it does nothing
					n.down++
				}
				n.protected(func() { panic(errCrash) })
			default:
				n.round(t.Context())
			}
			if w.node(w.leader).down >= missedBeats {
				w.leader = w.nodes[r.IntN(len(w.nodes))].id
			}
			if u := w.upgrade(t.Context()); u.Cancelled != "" {
				if len(u.Changed) > 0 {
					w.Errorf("it is cancelled, although %v have changed", u.Changed)
				}
				w.ok(w.begin(newBinaries))
			}
		}
		w.crashes = nil
		for range 5 {
			w.settle(t.Context())
			if u := w.upgrade(t.Context()); u.Cancelled != "" {
				w.ok(w.begin(newBinaries))
			}
			w.now = w.now.Add(2 * maxTurnRetry)
		}
		w.sees(t.Context(), "at the end", strings.TrimSpace(strings.Repeat(" 0.2.0", len(w.nodes))), "done")
		if t.Failed() {
			t.Fatalf("the seed is %d: %+v", seed, w.upgrade(t.Context()))
		}
	}
}
