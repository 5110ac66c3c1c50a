package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/schema"
	"juju/state/statetest"
)

// Controllers whose binaries need a newer schema come up one after another, and wait while an older one serves. When none is
// left, one of them upgrades the stored data, and all serve. An older one does not start any more.
func TestTheSchemaIsUpgradedOnce(t *testing.T) {
	t.Parallel()
	set := mongotest.NewSet(t, 1)
	s := newThreeControllers(t, set, set.Dial)

	var ran [2]atomic.Int32 // the steps of the controller's database, and of models
	step := func(n *atomic.Int32) schema.Step {
		return schema.Step{About: "a test", Run: func(context.Context, *mongo.Store, *mongo.Database) error { n.Add(1); return nil }}
	}
	newer := s.c.options
	newer.State.Steps = append(slices.Clone(controller.Steps), step(&ran[0]))
	newer.State.ModelSteps = append(slices.Clone(state.Steps), step(&ran[1]))
	older := s.c.options
	became := func(c *running, o Options) *running {
		o.Store.Dial = set.Dial
		return &running{dir: c.dir, own: c.own, conf: c.conf, options: o, ready: func() {}}
	}
	// sees waits until controller 0 sees which ones wait.
	sees := func(want string) {
		t.Helper()
		s.eventually(fmt.Sprintf("%q to wait", want), func() bool {
			if want != "" && ran[0].Load() > 0 {
				s.Fatal("the data is upgraded while an older controller serves")
			}
			nodes, err := s.c.members.Nodes(t.Context())
			s.ok(err)
			waiting := ""
			for _, n := range nodes {
				if n.Waits && n.Up {
					waiting += n.Machine + " "
				}
			}
			return waiting == want
		})
	}
	want := ""
	nodes := s.nodes.up()
	slices.SortFunc(nodes, func(a, b *running) int { return strings.Compare(a.conf.machine(), b.conf.machine()) })
	for _, c := range nodes {
		s.nodes.stop[c.conf.machine()]()
		next := became(c, newer)
		s.runNode(next)
		want += next.conf.machine() + " "
		sees(want)
		if _, err := s.st.AddMachine(s.ctx, state.AddMachineParams{Placement: statetest.At(absent)}); err != nil {
			t.Errorf("while %s wait: %v", want, err)
		}
	}
	s.stop()
	s.c.options.State = newer.State
	s.start()
	sees("")
	models, err := s.c.ctrl.Models(s.ctx)
	s.ok(err)
	if ran[0].Load() != 1 || int(ran[1].Load()) != len(models) {
		t.Errorf("the steps have run %d and %d times, with %d models", ran[0].Load(), ran[1].Load(), len(models))
	}
	s.nodes.stop["1"]()
	if err := became(nodes[0], older).run(s.ctx); !errors.Is(err, entity.NotSupported) {
		t.Errorf("an older one: %v", err)
	}
}

// A controller with older binaries that was taken for lost is back just before a newer schema is claimed: the one that
// claims it sees that at once, and not only at its next beat.
func TestAControllerThatIsBackIsSeenAfterTheClaim(t *testing.T) {
	t.Parallel()
	store := statetest.Store(t, mongo.Options{})
	older, _ := statetest.ControllerOn(t, store, controller.Options{Shared: true})
	newer, err := controller.Attach(t.Context(), store, controller.Options{Shared: true, ModelSteps: append(slices.Clone(state.Steps), schema.Step{})})
	statetest.OK(t, err)
	t.Cleanup(newer.Close)
	starts := func() {
		t.Helper()
		_, err := older.Beat(t.Context(), controller.Beat{ID: "1"})
		statetest.OK(t, err)
		statetest.OK(t, older.SetNode(t.Context(), controller.Node{ID: "1", Forms: older.Forms()}))
		statetest.OK(t, older.CheckForms(t.Context()))
	}
	c := &running{ctrl: newer}
	c.members = &membership{running: c}
	starts()
	for range missedBeats + 1 {
		statetest.OK(t, c.beat(t.Context()))
	}
	statetest.OK(t, c.awaitOlder(t.Context()))
	starts()
	statetest.OK(t, newer.ClaimForms(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.awaitOlder(t.Context()) }()
	sees := func() bool {
		ids, err := c.members.older(t.Context())
		statetest.OK(t, err)
		return len(ids) == 1
	}
	for !sees() {
		select {
		case err := <-ended:
			t.Fatalf("it does not wait: %v", err)
		default:
			runtime.Gosched()
		}
	}
	statetest.OK(t, older.RemoveNode(t.Context(), "1"))
	statetest.OK(t, <-ended)
}

// A process that was paused for so long that it was taken for lost executes no request after a newer schema is claimed.
func TestAControllerThatWasPausedIsNotSteady(t *testing.T) {
	t.Parallel()
	store := statetest.Store(t, mongo.Options{})
	ctrl, _ := statetest.ControllerOn(t, store, controller.Options{Shared: true})
	m := &membership{running: &running{ctrl: ctrl}}
	is := func(when string, want error) {
		t.Helper()
		if err := m.steady(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", when, err, want)
		}
	}
	is("before the first beat", nil)
	newer, err := controller.Attach(t.Context(), store, controller.Options{Shared: true, ModelSteps: append(slices.Clone(state.Steps), schema.Step{})})
	statetest.OK(t, err)
	t.Cleanup(newer.Close)
	statetest.OK(t, newer.ClaimForms(t.Context()))
	m.beaten(time.Now())
	is("after a beat", nil) // no one takes it for lost
	m.beaten(time.Now().Add(-steadyFor))
	is("after a pause", entity.Unavailable)

	// A request that it had begun before the pause changes nothing either.
	store.Guard(m.steady)
	add := func() error {
		_, err := ctrl.AddUser(t.Context(), controller.AddUserParams{Name: "bob", Creator: "admin"})
		return err
	}
	statetest.Refused(t, add(), entity.Unavailable, "this controller restarts")
	m.beaten(time.Now())
	statetest.OK(t, add())
}
