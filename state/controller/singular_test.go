package controller_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
)

// A node is a controller process on the store of a world, with its own clock.
type node struct {
	*controller.Controller
	mu  sync.Mutex
	now time.Time
}

func (w *world) node(start time.Time) *node {
	w.Helper()
	n := &node{now: start}
	var err error
	n.Controller, err = controller.Open(w.ctx, w.store, controller.Options{Shared: true, Now: func() time.Time {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.now
	}})
	w.ok(err)
	w.Cleanup(n.Close)
	return n
}

func (n *node) passes(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = n.now.Add(d)
}

const term = 15 * time.Second

// One node at a time holds the lease. It passes on when it is released, or has lasted its time by the clock of the node
// that takes it, and to the holder's own next process at once, each time with a higher epoch.
func TestOneNodeHoldsTheSingularLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.node(time.Unix(1000, 0)), w.node(time.Unix(9999, 0)) // their clocks are never compared
	claims := func(n *node, name string, want int64) {
		t.Helper()
		epoch, err := n.ClaimSingular(w.ctx, name, term)
		if want == 0 {
			w.refused(err, entity.LeadershipRefused, "holds the lease")
		} else if err != nil || epoch != want {
			t.Errorf("%s got epoch %d (%v), want %d", name, epoch, err, want)
		}
	}
	claims(a, "0", 1)
	claims(b, "1", 0)
	b.passes(term - 1)
	claims(b, "1", 0)
	claims(a, "0", 1) // renewed
	b.passes(1)
	claims(b, "1", 0) // counted from the renewal
	b.passes(term)
	claims(b, "1", 2)
	claims(a, "0", 0)
	claims(b, "1", 2)
	again := w.node(time.Unix(0, 0))
	if epoch, err := again.ClaimSingular(w.ctx, "1", time.Second); epoch != 3 || err != nil {
		t.Errorf("the next process got epoch %d (%v), want 3", epoch, err)
	}
	claims(a, "0", 0)
	a.passes(term - 1) // the process that ended may rely on its time
	claims(a, "0", 0)
	w.ok(b.ReleaseSingular(w.ctx, "1")) // of the process that ended
	claims(a, "0", 0)
	w.ok(again.ReleaseSingular(w.ctx, "1"))
	claims(a, "0", 4)
	if holder, err := b.SingularHolder(t.Context()); holder != "0" || err != nil {
		t.Errorf("the holder is %q, %v", holder, err)
	}
}

// A node that waits for the lease wakes when it is released.
func TestAwaitSingularEndsWithTheRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.node(time.Now()), w.node(time.Now())
	_, err := a.ClaimSingular(w.ctx, "0", 5*time.Minute)
	w.ok(err)
	ctx, cancel := context.WithTimeout(w.ctx, verify.Patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.AwaitSingular(ctx) }()
	select {
	case err := <-ended:
		t.Errorf("the wait ended with %v while node 0 holds the lease", err)
	case <-time.After(50 * time.Millisecond):
	}
	w.ok(a.ReleaseSingular(w.ctx, "0"))
	w.ok(<-ended)
}

// What the holder of an earlier epoch writes fails, also if it was built before the lease changed hands.
func TestFencedWritesEndWithTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fence := func(epoch int64) context.Context {
		t.Helper()
		ctx, err := w.ctrl.Fence(w.ctx, w.st, epoch)
		w.ok(err)
		return ctx
	}
	set := func(ctx context.Context, to string) error {
		return w.st.Settings().SetConfig(ctx, map[string]string{"http-proxy": to}, nil)
	}
	old := fence(1)
	w.ok(set(old, "a"))
	w.ok(set(fence(1), "b")) // another worker of the same holder
	w.before(func() { fence(2) })
	w.refused(w.db().Change(old, func(o *mongo.Ops) error {
		o.Insert("controllernodes", "x", controller.Node{ID: "x"})
		return nil
	}), entity.Unavailable, "another controller has taken over this work")
	w.refused(set(old, "c"), entity.Unavailable, "another controller has taken over this work")
	w.ok(set(fence(2), "d"))
	w.ok(set(w.ctx, "e")) // not one of the singular workers
	if _, err := w.ctrl.Fence(w.ctx, w.st, 1); err == nil {
		t.Error("an earlier epoch was accepted again")
	}
	nodes, err := w.ctrl.Nodes(t.Context())
	w.ok(err)
	if len(nodes) > 0 {
		t.Errorf("what the refused transaction inserted is there: %+v", nodes)
	}
}

// A lease that is lost begins after the epochs that are fenced.
func TestALostSingularLeaseContinues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node(time.Now())
	_, err := w.ctrl.Fence(w.ctx, nil, 7)
	w.ok(err)
	if epoch, err := n.ClaimSingular(w.ctx, "0", term); epoch != 8 || err != nil {
		t.Errorf("epoch %d, %v, want 8", epoch, err)
	}
}
