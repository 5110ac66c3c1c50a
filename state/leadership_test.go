package state_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
