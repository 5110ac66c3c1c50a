package state_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

const term = time.Minute // how long units in these tests claim to lead

// claims checks that the unit can claim leadership, with this epoch.
func (w *world) claims(unit string, epoch int64) {
	w.Helper()
	got, err := w.unit(unit).ClaimLeadership(w.ctx, term)
	w.ok(err)
	if got != epoch {
		w.Fatalf("%s leads by epoch %d, want %d", unit, got, epoch)
	}
}

// denied checks that a claim of the unit is refused.
func (w *world) denied(unit string) {
	w.Helper()
	_, err := w.unit(unit).ClaimLeadership(w.ctx, term)
	w.refused(err, entity.LeadershipRefused, "leadership claim denied")
}

// writes checks whether the unit can write as the leader with this epoch.
func (w *world) writes(unit string, epoch int64, can bool) {
	w.Helper()
	err := w.unit(unit).WriteAsLeader(w.ctx, epoch, unit)
	if can {
		w.ok(err)
	} else {
		w.refused(err, entity.LeadershipRefused, "is not the leader of service")
	}
}

func TestLeaderLeadsAsLongAsItRenews(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 3)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.writes("mysql/0", 0, false)
	w.claims("mysql/0", 1)
	w.denied("mysql/1")
	w.claims("wordpress/0", 1) // another service
	for range 5 {
		c.pass(term - time.Second)
		w.claims("mysql/0", 1)
		w.denied("mysql/1")
	}
	w.writes("mysql/0", 1, true)
	w.writes("mysql/1", 1, false)
	for _, s := range w.status("mysql").Services[0].Units {
		if s.Leader != (s.Name == "mysql/0") {
			t.Errorf("status of %s shows leader: %v", s.Name, s.Leader)
		}
	}
	c.pass(term)
	w.writes("mysql/0", 1, true) // no other unit has claimed
	w.claims("mysql/2", 2)
	w.denied("mysql/0")
	w.writes("mysql/0", 1, false)
	w.writes("mysql/2", 2, true)
	// It leads again later, but cannot make writes of its first term.
	c.pass(term)
	w.claims("mysql/0", 3)
	w.writes("mysql/0", 1, false)
	w.writes("mysql/0", 3, true)
}

func TestUnitsThatCannotLead(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 3)
	for _, d := range []time.Duration{-1, 0, state.MinLease - 1, state.MaxLease + 1} {
		_, err := w.unit("mysql/0").ClaimLeadership(w.ctx, d)
		w.refused(err, entity.Invalid, "invalid duration")
	}
	for _, d := range []time.Duration{state.MinLease, state.MaxLease} {
		_, err := w.unit("mysql/0").ClaimLeadership(w.ctx, d)
		w.ok(err)
	}
	// A Dying leader keeps its lease, and cannot renew it.
	w.started("mysql/0")
	dying := w.unit("mysql/0")
	w.ok(dying.Destroy(w.ctx, entity.Destruction{}))
	w.denied("mysql/0")
	w.denied("mysql/1")
	w.writes("mysql/0", 1, true)
	// A Dead or removed unit cannot lead, even within its lease.
	w.ok(dying.EnsureDead(w.ctx))
	w.claims("mysql/1", 2)
	gone := w.unit("mysql/1")
	w.ok(gone.Destroy(w.ctx, entity.Destruction{}))
	w.claims("mysql/2", 3)
	_, err := gone.ClaimLeadership(w.ctx, term)
	w.refused(err, entity.LeadershipRefused, "leadership claim denied")
	// A unit is destroyed between the steps of its claim.
	w.ok(w.unit("mysql/2").ReleaseLeadership(w.ctx))
	_, err = mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.st.Before(func() { w.ok(w.unit("mysql/3").Destroy(w.ctx, entity.Destruction{})) })
	w.denied("mysql/3")
	w.claims("mysql/2", 5)
}

// Each controller measures a lease from when it first saw it in its current
// state.
func TestControllersNeverCompareClocks(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	a.claims("mysql/0", 1)
	c.pass(term)
	b.denied("mysql/1") // b has not seen the lease before
	c.pass(term - time.Second)
	b.denied("mysql/1")
	// The lease is renewed at the last moment, and so is new to b again.
	a.claims("mysql/0", 1)
	c.pass(2 * time.Second)
	b.denied("mysql/1")
	// A restarted controller knows no leases, and waits for the full term.
	c.pass(term - 2*time.Second)
	d := c.another()
	d.denied("mysql/1")
	c.pass(2 * time.Second)
	d.denied("mysql/1")
	b.claims("mysql/1", 2)
	a.denied("mysql/0")
	a.writes("mysql/0", 1, false)
	b.writes("mysql/1", 2, true)
	// Any controller can renew it.
	d.claims("mysql/1", 2)
	a.claims("mysql/1", 2)
}

func TestRenewalNeverShortensALease(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 2)
	_, err := w.unit("mysql/0").ClaimLeadership(w.ctx, state.MaxLease)
	w.ok(err)
	_, err = w.unit("mysql/0").ClaimLeadership(w.ctx, state.MinLease)
	w.ok(err)
	c.pass(state.MaxLease - time.Second)
	w.denied("mysql/1")
	c.pass(time.Second)
	w.claims("mysql/1", 2)
}

// crashBetweenSteps interrupts the next claim of the unit between its two
// steps.
func (w *world) crashBetweenSteps(unit string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	w.st.Before(cancel)
	if _, err := w.unit(unit).ClaimLeadership(ctx, term); !errors.Is(err, context.Canceled) {
		w.Fatalf("got %v", err)
	}
}

func TestCrashBetweenClaimSteps(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	a.claims("mysql/0", 1)
	c.pass(term)
	a.crashBetweenSteps("mysql/1")
	// The lease has a new holder, which does not know it yet. The old leader can
	// still write, but cannot renew.
	a.writes("mysql/0", 1, true)
	a.denied("mysql/0")
	b.denied("mysql/2")
	b.claims("mysql/1", 2) // another controller takes the second step
	a.writes("mysql/0", 1, false)
	b.writes("mysql/1", 2, true)

	// The old leader does not get it back.
	a.denied("mysql/0")
	c.pass(term)
	a.crashBetweenSteps("mysql/0")
	b.denied("mysql/2")
	a.denied("mysql/1")
	c.pass(term)
	b.claims("mysql/2", 4)
	a.denied("mysql/0")
	b.writes("mysql/2", 4, true)
}

// A claim that is delayed between its steps finds that another unit leads, or
// at least holds the lease. Either way it is refused.
func TestSlowClaim(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 2)
	b.claims("mysql/1", 1)
	b.ok(b.unit("mysql/1").ReleaseLeadership(b.ctx))
	a.st.Before(func() {
		b.denied("mysql/1")
		c.pass(term)
		b.claims("mysql/1", 3)
	})
	a.denied("mysql/0")
	b.writes("mysql/1", 3, true)
	a.writes("mysql/0", 2, false)

	a.denied("mysql/0")
	c.pass(term)
	a.st.Before(func() {
		b.denied("mysql/1")
		c.pass(term)
		b.crashBetweenSteps("mysql/1")
	})
	a.denied("mysql/0") // the second step succeeded, but too late
	b.claims("mysql/1", 5)
	a.writes("mysql/0", 4, false)
	b.writes("mysql/1", 5, true)

	// No other unit claimed meanwhile: the claim is granted, for a term that starts
	// now.
	a.denied("mysql/0")
	c.pass(term)
	a.st.Before(func() { c.pass(2 * term) })
	a.claims("mysql/0", 6)
	b.denied("mysql/1")
	c.pass(term - time.Second)
	b.denied("mysql/1")
}

// A write as the leader arrives after the leadership was lost.
func TestDelayedExLeaderCannotWrite(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 2)
	a.claims("mysql/0", 1)
	a.writes("mysql/0", 1, true)
	b.denied("mysql/1")
	a.st.Before(func() {
		c.pass(term)
		b.claims("mysql/1", 2)
		b.writes("mysql/1", 2, true)
	})
	a.writes("mysql/0", 1, false)
	if text, err := a.st.LeadersText(t.Context(), "mysql"); err != nil || text != "mysql/1" {
		t.Errorf("the last writer was %q (%v)", text, err)
	}
}

func TestReleaseLeadership(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	a.claims("mysql/0", 1)
	b.ok(b.unit("mysql/1").ReleaseLeadership(b.ctx)) // not the leader
	b.denied("mysql/1")
	a.ok(a.unit("mysql/0").ReleaseLeadership(a.ctx))
	a.writes("mysql/0", 1, false)
	a.ok(a.unit("mysql/0").ReleaseLeadership(a.ctx))
	b.claims("mysql/1", 2)
	a.denied("mysql/0")
	// A release is interrupted half way: the unit no longer leads for any
	// controller.
	ctx, cancel := context.WithCancel(b.ctx)
	b.st.Before(cancel)
	if err := b.unit("mysql/1").ReleaseLeadership(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	a.claims("mysql/1", 3)
	// Claimed again during the release: the new claim stands.
	a.st.Before(func() { b.claims("mysql/1", 4) })
	a.ok(a.unit("mysql/1").ReleaseLeadership(a.ctx))
	b.writes("mysql/1", 4, true)
	a.denied("mysql/2")
	// Renewed between the release's read and write of the lease.
	c.clocks[0].before(func() { b.claims("mysql/1", 4) })
	a.ok(a.unit("mysql/1").ReleaseLeadership(a.ctx))
	a.claims("mysql/2", 5)
}

// A lease written by another controller since it was read is not overwritten.
func TestLeaseTakenBetweenReadAndWrite(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	// a reads its clock when it begins, and again right after it has read the
	// lease.
	meanwhile := func(looks int, f func()) {
		var again func()
		again = func() {
			if looks--; looks == 0 {
				f()
			} else {
				c.clocks[0].before(again)
			}
		}
		c.clocks[0].before(again)
	}
	a.claims("mysql/0", 1)
	b.denied("mysql/1")
	a.denied("mysql/2")
	c.pass(term)
	meanwhile(2, func() { b.claims("mysql/1", 2) })
	a.denied("mysql/2") // it read a lapsed lease
	c.pass(term)
	meanwhile(2, func() { b.claims("mysql/1", 2) })
	a.denied("mysql/2")
	b.writes("mysql/1", 2, true)
	// A renewal finds that the lease was taken.
	b.denied("mysql/0")
	c.pass(term)
	meanwhile(2, func() { b.claims("mysql/0", 3) })
	a.denied("mysql/1")
	b.writes("mysql/0", 3, true)
}

// Of concurrent claims, one is granted.
func TestConcurrentClaims(t *testing.T) {
	c := newControllers(t, 3)
	c.worlds[0].deploy("mysql", statetest.MySQL, 6)
	type outcome struct {
		epoch int64
		err   error
	}
	outcomes := make(chan outcome)
	for i := range 6 {
		w := c.worlds[i%3]
		u := w.unit([]string{"mysql/0", "mysql/1", "mysql/2", "mysql/3", "mysql/4", "mysql/5"}[i])
		go func() {
			epoch, err := u.ClaimLeadership(w.ctx, term)
			outcomes <- outcome{epoch, err}
		}()
	}
	granted := 0
	for range 6 {
		o := <-outcomes
		if o.err == nil && o.epoch == 1 {
			granted++
		} else if !errors.Is(o.err, entity.LeadershipRefused) {
			t.Errorf("epoch %d, %v", o.epoch, o.err)
		}
	}
	if granted != 1 {
		t.Errorf("%d claims were granted, want 1", granted)
	}
}

// When leases are lost, or older than their services' own records, no epoch is
// granted twice.
func TestLeasesRestoredFromABackup(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 2)
	w.claims("mysql/1", 1)
	w.ok(w.unit("mysql/1").ReleaseLeadership(w.ctx))
	w.claims("mysql/0", 2)
	w.putLease("mysql", "mysql/1", 1)
	w.denied("mysql/0")
	w.writes("mysql/0", 2, true)
	w.claims("mysql/1", 3)
	w.writes("mysql/0", 2, false)
	w.putLease("mysql", "", 0)
	w.claims("mysql/0", 4)
	w.writes("mysql/1", 3, false)
}

// A claim retries while other writers keep changing the lease: it is granted if
// they let it through in time, and given up if they never do. A release does
// the same. One long pause is no reason to give up.
func TestClaimUnderRepeatedConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: until mgo's pings end
		c := newControllers(t, 1)
		w := c.worlds[0]
		w.deploy("mysql", statetest.MySQL, 1)
		w.claims("mysql/0", 1)
		epoch := int64(1)
		// meanwhile lets the other controller write the lease, times times, between
		// the first one's reads and its write. reads is how often the first one
		// reads its clock in each try.
		meanwhile := func(times, reads int, holder string, pause time.Duration) {
			looks := 0
			var look func()
			look = func() {
				if looks++; looks%reads == 0 {
					time.Sleep(pause)
					epoch += 10 // more than the claims have added
					w.putLease("mysql", holder, epoch)
					times--
				}
				if times > 0 {
					c.clocks[0].before(look)
				}
			}
			c.clocks[0].before(look)
		}
		claim := func() error { _, err := w.unit("mysql/0").ClaimLeadership(w.ctx, term); return err }
		giveBack := func() error { return w.unit("mysql/0").ReleaseLeadership(w.ctx) }
		for _, do := range []struct {
			what   string
			f      func() error
			reads  int
			holder string
		}{{"claim", claim, 2, ""}, {"release", giveBack, 1, "mysql/0"}} {
			w.ok(claim())
			meanwhile(50, do.reads, do.holder, 0)
			w.ok(do.f())
			w.ok(claim())
			meanwhile(2, do.reads, do.holder, time.Minute)
			w.ok(do.f())
			w.ok(claim())
			meanwhile(1e9, do.reads, do.holder, 0)
			began := time.Now()
			w.refused(do.f(), entity.Contention, "state changing too quickly; try again soon")
			if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
				t.Errorf("%s was given up after %v", do.what, took)
			}
			c.clocks[0].before(nil)
		}
	})
}
