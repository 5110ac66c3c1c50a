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

const term = time.Minute // for which units of these stories want to lead

// claims wants the unit to lead its service by this epoch.
func (w *world) claims(unit string, epoch int64) {
	w.Helper()
	got, err := w.unit(unit).ClaimLeadership(w.ctx, term)
	w.ok(err)
	if got != epoch {
		w.Fatalf("%s leads by epoch %d, want %d", unit, got, epoch)
	}
}

// denied wants the unit not to.
func (w *world) denied(unit string) {
	w.Helper()
	_, err := w.unit(unit).ClaimLeadership(w.ctx, term)
	w.refused(err, entity.LeadershipRefused, "leadership claim denied")
}

// writes wants the unit to be able to write as the leader by this epoch, or not.
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
			t.Errorf("status shows of %s that it leads: %v", s.Name, s.Leader)
		}
	}
	c.pass(term)
	w.writes("mysql/0", 1, true) // nobody else has asked
	w.claims("mysql/2", 2)
	w.denied("mysql/0")
	w.writes("mysql/0", 1, false)
	w.writes("mysql/2", 2, true)
	// It leads again one day, and what it meant to write before stays unwritten.
	c.pass(term)
	w.claims("mysql/0", 3)
	w.writes("mysql/0", 1, false)
	w.writes("mysql/0", 3, true)
}

func TestUnitsThatCannotLead(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 3)
	for _, d := range []time.Duration{-1, 0, state.LeastLease - 1, state.MostLease + 1} {
		_, err := w.unit("mysql/0").ClaimLeadership(w.ctx, d)
		w.refused(err, entity.Invalid, "invalid duration")
	}
	for _, d := range []time.Duration{state.LeastLease, state.MostLease} {
		_, err := w.unit("mysql/0").ClaimLeadership(w.ctx, d)
		w.ok(err)
	}
	// One that is Dying leads on for its time, and gets no more.
	w.started("mysql/0")
	dying := w.unit("mysql/0")
	w.ok(dying.Destroy(w.ctx, entity.Destruction{}))
	w.denied("mysql/0")
	w.denied("mysql/1")
	w.writes("mysql/0", 1, true)
	// Dead or gone it can't lead, whatever it was promised.
	w.ok(dying.EnsureDead(w.ctx))
	w.claims("mysql/1", 2)
	gone := w.unit("mysql/1")
	w.ok(gone.Destroy(w.ctx, entity.Destruction{}))
	w.claims("mysql/2", 3)
	_, err := gone.ClaimLeadership(w.ctx, term)
	w.refused(err, entity.LeadershipRefused, "leadership claim denied")
	// Destroyed between the steps of its claim.
	w.ok(w.unit("mysql/2").ReleaseLeadership(w.ctx))
	_, err = mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.st.Before(func() { w.ok(w.unit("mysql/3").Destroy(w.ctx, entity.Destruction{})) })
	w.denied("mysql/3")
	w.claims("mysql/2", 5)
}

// Each controller counts from when it first saw the lease as it is.
func TestControllersNeverCompareClocks(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	a.claims("mysql/0", 1)
	c.pass(term)
	b.denied("mysql/1") // b has not known of it before
	c.pass(term - time.Second)
	b.denied("mysql/1")
	// Renewed at the last moment: again it is new to b.
	a.claims("mysql/0", 1)
	c.pass(2 * time.Second)
	b.denied("mysql/1")
	// A controller that has begun anew knows nothing, and waits its time.
	c.pass(term - 2*time.Second)
	d := c.another()
	d.denied("mysql/1")
	c.pass(2 * time.Second)
	d.denied("mysql/1")
	b.claims("mysql/1", 2)
	a.denied("mysql/0")
	a.writes("mysql/0", 1, false)
	b.writes("mysql/1", 2, true)
	// Any controller renews it.
	d.claims("mysql/1", 2)
	a.claims("mysql/1", 2)
}

func TestRenewalNeverShortensALease(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 2)
	_, err := w.unit("mysql/0").ClaimLeadership(w.ctx, state.MostLease)
	w.ok(err)
	_, err = w.unit("mysql/0").ClaimLeadership(w.ctx, state.LeastLease)
	w.ok(err)
	c.pass(state.MostLease - time.Second)
	w.denied("mysql/1")
	c.pass(time.Second)
	w.claims("mysql/1", 2)
}

// crash ends the next claim of the unit between its two steps.
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
	// The lease has a new holder, which has not been told; the old one can still
	// write, and is not told either that it may go on.
	a.writes("mysql/0", 1, true)
	a.denied("mysql/0")
	b.denied("mysql/2")
	b.claims("mysql/1", 2) // the second step, by another controller
	a.writes("mysql/0", 1, false)
	b.writes("mysql/1", 2, true)

	// It does not come back.
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

// One that was held up between the steps finds that another leads, or has the
// lease at least; either way it is told nothing.
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
	a.denied("mysql/0") // its second step succeeded, but its time was over
	b.claims("mysql/1", 5)
	a.writes("mysql/0", 4, false)
	b.writes("mysql/1", 5, true)

	// Nobody came in between: it is told of a term that begins now.
	a.denied("mysql/0")
	c.pass(term)
	a.st.Before(func() { c.pass(2 * term) })
	a.claims("mysql/0", 6)
	b.denied("mysql/1")
	c.pass(term - time.Second)
	b.denied("mysql/1")
}

// What it wanted to write as the leader comes too late.
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
	if text, err := a.st.LeadersText("mysql"); err != nil || text != "mysql/1" {
		t.Errorf("the last to write was %q (%v)", text, err)
	}
}

func TestReleaseLeadership(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	a.claims("mysql/0", 1)
	b.ok(b.unit("mysql/1").ReleaseLeadership(b.ctx)) // which does not lead
	b.denied("mysql/1")
	a.ok(a.unit("mysql/0").ReleaseLeadership(a.ctx))
	a.writes("mysql/0", 1, false)
	a.ok(a.unit("mysql/0").ReleaseLeadership(a.ctx))
	b.claims("mysql/1", 2)
	a.denied("mysql/0")
	// Half given back, by a crash between: it leads no more, whoever asks.
	ctx, cancel := context.WithCancel(b.ctx)
	b.st.Before(cancel)
	if err := b.unit("mysql/1").ReleaseLeadership(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	a.claims("mysql/1", 3)
	// Claimed again while it is given back: the new claim stands.
	a.st.Before(func() { b.claims("mysql/1", 4) })
	a.ok(a.unit("mysql/1").ReleaseLeadership(a.ctx))
	b.writes("mysql/1", 4, true)
	a.denied("mysql/2")
	// Renewed between the reading and the writing of the lease.
	c.clocks[0].before(func() { b.claims("mysql/1", 4) })
	a.ok(a.unit("mysql/1").ReleaseLeadership(a.ctx))
	a.claims("mysql/2", 5)
}

// A lease that another has written since it was read is not overwritten.
func TestLeaseTakenBetweenReadAndWrite(t *testing.T) {
	c := newControllers(t, 2)
	a, b := c.worlds[0], c.worlds[1]
	a.deploy("mysql", statetest.MySQL, 3)
	// a looks at its clock when it begins, and then right after it has read the lease.
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
	a.denied("mysql/2") // which found it lapsed
	c.pass(term)
	meanwhile(2, func() { b.claims("mysql/1", 2) })
	a.denied("mysql/2")
	b.writes("mysql/1", 2, true)
	// Whoever renews finds that it was replaced.
	b.denied("mysql/0")
	c.pass(term)
	meanwhile(2, func() { b.claims("mysql/0", 3) })
	a.denied("mysql/1")
	b.writes("mysql/0", 3, true)
}

// Many ask at once; one leads.
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
		t.Errorf("%d lead", granted)
	}
}

// Leases that are lost, or older than what their services know, give nobody an
// epoch that has been.
func TestLeasesRestoredFromABackup(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 2)
	w.claims("mysql/1", 1)
	w.ok(w.unit("mysql/1").ReleaseLeadership(w.ctx))
	w.claims("mysql/0", 2)
	w.ok(w.ctrl.PutLease(w.ctx, w.st.UUID(), "mysql", "mysql/1", 1))
	w.denied("mysql/0")
	w.writes("mysql/0", 2, true)
	w.claims("mysql/1", 3)
	w.writes("mysql/0", 2, false)
	w.ok(w.ctrl.PutLease(w.ctx, w.st.UUID(), "mysql", "", 0))
	w.claims("mysql/0", 4)
	w.writes("mysql/1", 3, false)
}

// Others that keep getting ahead hold a claim up for a time, however often they do: one
// that they let through then is granted, and one that they never do is given up. So it
// is with what is given back. A long pause is no reason to give up at once.
func TestClaimUnderRepeatedConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // as the last: mgo's pings end
		c := newControllers(t, 2)
		w, other := c.worlds[0], c.worlds[1]
		w.deploy("mysql", statetest.MySQL, 1)
		w.claims("mysql/0", 1)
		epoch := int64(1)
		// meanwhile has the other write the lease, so many times, between what the first
		// reads of it and what it writes; reads is how often the first looks at its clock
		// for each try.
		meanwhile := func(times, reads int, holder string, pause time.Duration) {
			looks := 0
			var look func()
			look = func() {
				if looks++; looks%reads == 0 {
					time.Sleep(pause)
					epoch += 10 // more than claims have added
					w.ok(other.ctrl.PutLease(w.ctx, w.st.UUID(), "mysql", holder, epoch))
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
				t.Errorf("a %s is given up after %v", do.what, took)
			}
			c.clocks[0].before(nil)
		}
	})
}
