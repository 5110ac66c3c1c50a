package state_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// inElection runs story with two controllers in a synctest bubble, where time
// passes only while every goroutine is blocked.
func inElection(t *testing.T, story func(a, b *world)) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		store := openStore(t, vfs.NewMem())
		one, two := statetest.OpenController(t, store, controller.Options{}), statetest.OpenController(t, store, controller.Options{})
		st, err := one.AddModel(ctx, controller.AddModelParams{Name: "default", Owner: statetest.Admin, Series: "jammy"})
		if err != nil {
			t.Fatal(err)
		}
		other, err := two.Model(ctx, st.UUID())
		if err != nil {
			t.Fatal(err)
		}
		story(&world{T: t, ctx: ctx, ctrl: one, st: st}, &world{T: t, ctx: ctx, ctrl: two, st: other})
		one.Close()
		two.Close()
		closeStore(t, store)
		time.Sleep(time.Minute) // until mgo's pings end
	})
}

// A wait is a call that blocks until leadership is released.
type wait struct {
	*world
	began time.Time
	done  chan error
}

func (w *world) waits(ctx context.Context, unit string) *wait {
	u := w.unit(unit)
	b := &wait{w, time.Now(), make(chan error, 1)}
	go func() { b.done <- u.BlockUntilLeadershipReleased(ctx) }()
	synctest.Wait()
	return b
}

// ends checks that the wait ends between shortest and longest after it began.
func (b *wait) ends(shortest, longest time.Duration) {
	b.Helper()
	err := <-b.done
	if took := time.Since(b.began); err != nil || took < shortest || took > longest {
		b.Errorf("waited for %v (%v), want %v to %v", took, err, shortest, longest)
	}
}

func TestWaitForLeadership(t *testing.T) {
	inElection(t, func(a, b *world) {
		a.deploy("mysql", statetest.MySQL, 3)
		a.waits(a.ctx, "mysql/1").ends(0, time.Second) // no leader

		a.claims("mysql/0", 1)
		here, there := a.waits(a.ctx, "mysql/1"), b.waits(b.ctx, "mysql/2")
		time.Sleep(20 * time.Second)
		a.ok(a.unit("mysql/0").ReleaseLeadership(a.ctx))
		here.ends(20*time.Second, 22*time.Second)
		there.ends(20*time.Second, 22*time.Second)

		// The leader renews once, and is not heard of again.
		a.claims("mysql/0", 2)
		here, there = a.waits(a.ctx, "mysql/1"), b.waits(b.ctx, "mysql/2")
		time.Sleep(40 * time.Second)
		a.claims("mysql/0", 2)
		here.ends(100*time.Second, 102*time.Second)
		there.ends(100*time.Second, 161*time.Second) // it looks when the lease it knew of has lapsed
		b.claims("mysql/1", 3)

		// The leader is removed.
		here, there = a.waits(a.ctx, "mysql/0"), b.waits(b.ctx, "mysql/2")
		time.Sleep(10 * time.Second)
		a.ok(a.unit("mysql/1").Destroy(a.ctx, entity.Destruction{}))
		here.ends(10*time.Second, 12*time.Second)
		there.ends(10*time.Second, 12*time.Second)
		b.claims("mysql/2", 4)

		// A wait ends with its context, and with the controller.
		ctx, cancel := context.WithCancel(a.ctx)
		given := a.waits(ctx, "mysql/0")
		cancel()
		if err := <-given.done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled wait: %v", err)
		}
		closing := a.waits(a.ctx, "mysql/0")
		a.ctrl.Close()
		if err := <-closing.done; !errors.Is(err, entity.Unavailable) {
			t.Errorf("wait on a closed controller: %v", err)
		}
	})
}
