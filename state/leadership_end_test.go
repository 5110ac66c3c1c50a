package state_test

import (
	"testing"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/lease"
	"juju/state/statetest"
)

// leases checks how many leases are left after a pass of the cleaner.
func (w *world) leases(want int) {
	w.Helper()
	_, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	n, err := w.controllerDB().Count(w.ctx, lease.Collection, nil)
	w.ok(err)
	if n != want {
		w.Errorf("%d leases are left, want %d", n, want)
	}
}

func TestLeadershipEndsWithItsService(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.claims("mysql/0", 1)
	w.started("mysql/0")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.leases(1)
	w.end("mysql/0")
	w.leases(0)

	// A new service of the same name starts over; the old lease is not mistaken for
	// its own.
	s = w.deploy("mysql", statetest.MySQL, 1)
	w.claims("mysql/1", 1)
	w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	s = w.deploy("mysql", statetest.MySQL, 1)
	w.claims("mysql/2", 2) // by the old lease
	w.leases(1)
	w.claims("mysql/2", 2)

	// Leadership is released, and everything removed.
	w.ok(w.unit("mysql/2").ReleaseLeadership(w.ctx))
	w.ok(w.unit("mysql/2").Destroy(w.ctx, entity.Destruction{}))
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.leases(0)
	for _, id := range []string{"0", "1", "2"} {
		w.endMachine(id)
	}
	w.empty()
}

// A claim arrives while the last unit of a Dying service is removed, after an
// earlier claim was cut short.
func TestLeadershipDuringServiceRemoval(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.st.Before(func() { w.claims("mysql/0", 1) })
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.leases(0)

	s = w.deploy("mysql", statetest.MySQL, 1)
	w.crashBetweenSteps("mysql/1") // of creating the lease
	w.claims("mysql/1", 1)
	w.ok(w.unit("mysql/1").ReleaseLeadership(w.ctx))
	w.crashBetweenSteps("mysql/1")
	w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.leases(0)
	w.endMachine("0")
	w.endMachine("1")
	w.empty()
}

// A unit that dies alone makes way for another. In a dying service all units are dying, and one of them leads to the end.
func TestDyingUnitsLeadADyingService(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 3)
	for _, name := range []string{"mysql/0", "mysql/1", "mysql/2"} {
		w.started(name)
	}
	w.claims("mysql/0", 1)
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.denied("mysql/0")
	w.writes("mysql/0", 1, true) // until its term ends
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.clean()
	w.claims("mysql/0", 1)
	w.denied("mysql/1")
	w.end("mysql/0")
	w.claims("mysql/2", 2)
	w.writes("mysql/2", 2, true)
	w.ok(w.unit("mysql/2").EnsureDead(w.ctx))
	w.denied("mysql/2")
	w.claims("mysql/1", 3)
	w.end("mysql/1")
	w.ok(w.unit("mysql/2").Remove(w.ctx))
	w.leases(0)
}

func TestLeasesAreRemovedWithTheirModel(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.claims("mysql/0", 1)
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "other", Owner: statetest.Admin, Series: "jammy"})
	w.ok(err)
	other := &world{T: t, ctx: w.ctx, ctrl: w.ctrl, st: st}
	other.deploy("mysql", statetest.MySQL, 1)
	other.deploy("wordpress", statetest.Wordpress, 1)
	other.claims("mysql/0", 1)
	other.claims("wordpress/0", 1)
	w.leases(3)
	w.ok(st.Die(w.ctx))
	w.ok(w.ctrl.RemoveModel(w.ctx, st.UUID()))
	_, err = statetest.ResumeModels(w.ctx, w.ctrl, statetest.Nowhere)
	w.ok(err)
	w.leases(1)
	w.claims("mysql/0", 1)
}

// A check finds a lease that no cleanup will remove, as when a controller dies
// right after it took one for a unit that is being removed.
func TestCheckFindsOrphanedLease(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.claims("mysql/0", 1)
	w.putLease("gone", "gone/0", 1)
	found := w.check(true)
	if len(found) != 1 || !found[0].Done || found[0].What != `service "gone" is gone, and no cleanup will remove it` {
		t.Errorf("check found %s", statetest.Lines(found))
	}
	w.leases(1)
	w.checkClean()
}
