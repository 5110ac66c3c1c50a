package leadership_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/lease"
	"juju/state/mongo"
)

const term = time.Minute // how long units claim to lead

// A model has two controllers, and a service mysql with three units.
type model struct {
	*modeltest.Model
	*testing.T
	leases *mongo.Database
	a, b   *controller
}

// A controller decides for units who leads.
type controller struct {
	*model
	leadership.Leadership
	looks int    // how often it looks at the clock before what happens meanwhile
	then  func() // what happens meanwhile
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{Model: modeltest.New(t, modeldb.Service{Name: "mysql"}, modeltest.Counts{Key: "s#mysql", Of: map[string]int{"units": 3}}), T: t}
	for _, name := range []string{"mysql/0", "mysql/1", "mysql/2"} {
		m.Put(modeldb.Unit{Name: name, Service: "mysql"})
	}
	m.OK(m.Store.Make(m.Ctx, "controller", mongo.Schema{LogSize: 1 << 20}))
	m.leases = m.Store.Open("controller")
	t.Cleanup(func() { m.leases.Close(errors.New("the test has ended")) })
	m.a, m.b = m.another(), m.another()
	return m
}

func (m *model) another() *controller {
	c := &controller{model: m}
	leases := lease.New(m.leases, lease.Collection, m.Store.Barrier, func() time.Time {
		if c.looks--; c.looks == 0 {
			c.then()
		}
		return m.Time
	})
	c.Leadership = leadership.Leadership{DB: m.DB, Leases: leases, Hub: m.Hub}
	return c
}

// meanwhile calls f right after the controller has read a lease next.
func (c *controller) meanwhile(f func()) { c.looks, c.then = 1, f }

func (m *model) pass(d time.Duration) { m.Time = m.Time.Add(d) }

func unit(name string) modeldb.Unit { return modeldb.Unit{Name: name, Service: "mysql"} }

func (c *controller) claims(name string, epoch int64) {
	c.Helper()
	got, err := c.Claim(c.Ctx, unit(name), term)
	if c.OK(err); got != epoch {
		c.Fatalf("%s leads by epoch %d, want %d", name, got, epoch)
	}
}

func (c *controller) denied(name string) {
	c.Helper()
	_, err := c.Claim(c.Ctx, unit(name), term)
	c.Refused(err, entity.LeadershipRefused, "leadership claim denied")
}

// writes checks whether a unit can write as the leader with this epoch.
func (m *model) writes(name string, epoch int64, can bool) {
	m.Helper()
	err := m.DB.Change(m.Ctx, func(o *modeltxn.Ops) error { return leadership.Assert(m.Ctx, m.DB, o, unit(name), epoch) })
	if can {
		m.OK(err)
	} else {
		m.Refused(err, entity.LeadershipRefused, `unit "`+name+`" is not the leader of service "mysql"`)
	}
}

func (m *model) leader() modeldb.Leader {
	m.Helper()
	return modeltest.Get[modeldb.Leader](m.Model, "mysql")
}

// putLease overwrites the lease, as a restored backup does.
func (m *model) putLease(holder string, epoch int64) {
	m.Helper()
	doc := lease.Doc{ID: lease.ID(modeltest.UUID, "mysql"), Holder: holder, Epoch: epoch, Duration: leadership.MinLease}
	m.OK(m.leases.With(m.Ctx, lease.Collection, func(c *mgo.Collection) error {
		_, err := c.UpsertId(doc.ID, doc)
		return err
	}))
}

// A unit leads for as long as it renews, and its writes are accepted until another one has claimed.
func TestClaim(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.writes("mysql/0", 0, false)
	m.a.claims("mysql/0", 1)
	if n := m.CountOf("s#mysql", modeldb.LeadersC); n != 1 || m.leader().Token == "" {
		t.Errorf("the service has %d leaders documents: %+v", n, m.leader())
	}
	for range 3 {
		m.pass(term - time.Second)
		m.a.claims("mysql/0", 1)
		m.a.denied("mysql/1")
	}
	m.writes("mysql/0", 1, true)
	m.writes("mysql/0", 2, false)
	m.writes("mysql/1", 1, false)
	m.pass(term)
	m.writes("mysql/0", 1, true) // no other unit has claimed
	m.a.claims("mysql/2", 2)
	m.a.denied("mysql/0")
	m.writes("mysql/0", 1, false)
	m.writes("mysql/2", 2, true)
	// The leader is another by the time of the write.
	m.Refused(m.RaceOps(func() { m.pass(term); m.a.claims("mysql/1", 3) }, func(o *modeltxn.Ops) error {
		return leadership.Assert(m.Ctx, m.DB, o, unit("mysql/2"), 2)
	}), entity.LeadershipRefused, "is not the leader")
	m.Refused(m.RaceOps(func() { m.pass(term); m.a.claims("mysql/2", 4); m.pass(term); m.a.claims("mysql/1", 5) }, func(o *modeltxn.Ops) error {
		return leadership.Assert(m.Ctx, m.DB, o, unit("mysql/1"), 3)
	}), entity.LeadershipRefused, "is not the leader")
	// The leader has given up by the time of the write.
	m.Refused(m.RaceOps(func() { m.OK(m.a.Release(m.Ctx, unit("mysql/1"))) }, func(o *modeltxn.Ops) error {
		return leadership.Assert(m.Ctx, m.DB, o, unit("mysql/1"), 5)
	}), entity.LeadershipRefused, "is not the leader")
	m.Remove(modeldb.UnitsC, "mysql/0")
	m.Refused(leadership.Refusal(m.Ctx, m.DB, unit("mysql/0")), entity.NotFound, `unit "mysql/0" not found`)
}

func TestUnitsThatCannotLead(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	for _, d := range []time.Duration{-1, 0, leadership.MinLease - 1, leadership.MaxLease + 1} {
		_, err := m.a.Claim(m.Ctx, unit("mysql/0"), d)
		m.Refused(err, entity.Invalid, "invalid duration "+d.String()+": a leader leads for 5s to 5m0s")
	}
	for _, d := range []time.Duration{leadership.MaxLease, leadership.MinLease} { // it is not shortened
		_, err := m.a.Claim(m.Ctx, unit("mysql/0"), d)
		m.OK(err)
	}
	m.pass(leadership.MaxLease - time.Second)
	m.a.denied("mysql/1")
	// A Dying leader keeps its lease, and cannot renew it.
	m.Kill(modeldb.UnitsC, "mysql/0", entity.Dying)
	m.a.denied("mysql/0")
	m.a.denied("mysql/1")
	m.writes("mysql/0", 1, true)
	// A Dead or removed unit cannot lead, even within its lease.
	m.Kill(modeldb.UnitsC, "mysql/0", entity.Dead)
	m.a.claims("mysql/1", 2)
	m.Remove(modeldb.UnitsC, "mysql/1")
	m.a.claims("mysql/2", 3)
	m.a.denied("mysql/1")
	// A unit is destroyed, or removed, between the steps of its claim.
	for _, gone := range []func(){func() { m.Kill(modeldb.UnitsC, "mysql/3", entity.Dying) }, func() { m.Remove(modeldb.UnitsC, "mysql/3") }} {
		m.OK(m.a.Release(m.Ctx, unit("mysql/2")))
		m.Put(unit("mysql/3"))
		m.Refused(m.Race(gone, func() error { _, err := m.a.Claim(m.Ctx, unit("mysql/3"), term); return err }), entity.LeadershipRefused, "denied")
		m.pass(term)
		_, err := m.a.Claim(m.Ctx, unit("mysql/2"), term)
		m.OK(err)
	}
	// The first claim of all makes the leaders document, unless the service is gone.
	m = newModel(t)
	m.OK(m.Race(func() { m.b.claims("mysql/1", 1); m.OK(m.b.Release(m.Ctx, unit("mysql/1"))) }, func() error {
		_, err := m.a.Claim(m.Ctx, unit("mysql/0"), term)
		return err
	}))
	if n := m.CountOf("s#mysql", modeldb.LeadersC); n != 1 || m.leader().Epoch != 2 {
		t.Errorf("the service has %d leaders documents: %+v", n, m.leader())
	}
	m = newModel(t)
	m.Remove(modeldb.ServicesC, "mysql")
	m.a.denied("mysql/0")
}

// Each controller measures a lease from when it first saw it as it is.
func TestControllersNeverCompareClocks(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.a.claims("mysql/0", 1)
	m.pass(term)
	m.b.denied("mysql/1") // it has not seen the lease before
	m.pass(term - time.Second)
	m.b.denied("mysql/1")
	m.a.claims("mysql/0", 1) // renewed at the last moment, and so new to b again
	m.pass(2 * time.Second)
	m.b.denied("mysql/1")
	m.pass(term - 2*time.Second)
	c := m.another() // it knows no leases, and waits for the full term
	c.denied("mysql/1")
	m.pass(2 * time.Second)
	c.denied("mysql/1")
	m.b.claims("mysql/1", 2)
	m.a.denied("mysql/0")
	c.claims("mysql/1", 2) // any controller can renew it
}

// interrupted interrupts a claim or release of a unit between its two steps.
func (c *controller) interrupted(do func(context.Context) error) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	if err := c.Between(cancel, func() error { return do(ctx) }); !errors.Is(err, context.Canceled) {
		c.Fatalf("got %v", err)
	}
}

func (c *controller) claim(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.Claim(ctx, unit(name), term)
		return err
	}
}

func TestCrashBetweenClaimSteps(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.a.claims("mysql/0", 1)
	m.pass(term)
	m.a.interrupted(m.a.claim("mysql/1"))
	// The lease has a new holder, which does not know it yet. The old leader can still write, but cannot renew.
	m.writes("mysql/0", 1, true)
	m.a.denied("mysql/0")
	m.b.denied("mysql/2")
	m.b.claims("mysql/1", 2) // another controller takes the second step
	m.writes("mysql/0", 1, false)
	m.writes("mysql/1", 2, true)
	// The old leader does not get it back.
	m.a.denied("mysql/0")
	m.pass(term)
	m.a.interrupted(m.a.claim("mysql/0"))
	m.b.denied("mysql/2")
	m.a.denied("mysql/1")
	m.pass(term)
	m.b.claims("mysql/2", 4)
	m.a.denied("mysql/0")
	m.writes("mysql/2", 4, true)
}

// A claim that is delayed between its steps finds that another unit leads, or at least holds the lease, and is refused.
// Otherwise it is granted, for a term that starts now.
func TestSlowClaim(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.b.claims("mysql/1", 1)
	m.OK(m.b.Release(m.Ctx, unit("mysql/1")))
	m.Refused(m.Race(func() {
		m.b.denied("mysql/1")
		m.pass(term)
		m.b.claims("mysql/1", 3)
	}, func() error { return m.a.claim("mysql/0")(m.Ctx) }), entity.LeadershipRefused, "denied")
	m.writes("mysql/1", 3, true)
	m.writes("mysql/0", 2, false)

	m.a.denied("mysql/0")
	m.pass(term)
	m.Refused(m.Between(func() {
		m.b.denied("mysql/1")
		m.pass(term)
		m.b.interrupted(m.b.claim("mysql/1"))
	}, func() error { return m.a.claim("mysql/0")(m.Ctx) }), entity.LeadershipRefused, "denied") // the second step succeeded, but too late
	m.b.claims("mysql/1", 5)
	m.writes("mysql/0", 4, false)

	m.a.denied("mysql/0")
	m.pass(term)
	m.OK(m.Between(func() { m.pass(2 * term) }, func() error { return m.a.claim("mysql/0")(m.Ctx) }))
	m.writes("mysql/0", 6, true)
	m.b.denied("mysql/1")
	m.pass(term - time.Second)
	m.b.denied("mysql/1")
}

func TestRelease(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	release := func(c *controller, name string) func(context.Context) error {
		return func(ctx context.Context) error { return c.Release(ctx, unit(name)) }
	}
	m.a.claims("mysql/0", 1)
	m.OK(release(m.b, "mysql/1")(m.Ctx)) // not the leader
	m.b.denied("mysql/1")
	m.OK(release(m.a, "mysql/0")(m.Ctx))
	m.writes("mysql/0", 1, false)
	if l := m.leader(); l.Holder != "" || l.Epoch != 1 {
		t.Errorf("the leader is %+v", l)
	}
	m.OK(release(m.a, "mysql/0")(m.Ctx))
	m.b.claims("mysql/1", 2)
	m.a.denied("mysql/0")
	// A release is interrupted half way: the unit no longer leads for any controller, and the next takes the rest.
	m.b.interrupted(release(m.b, "mysql/1"))
	m.writes("mysql/1", 2, true)
	m.OK(release(m.a, "mysql/1")(m.Ctx))
	m.writes("mysql/1", 2, false)
	m.a.claims("mysql/1", 3)
	// Claimed again during the release: the new claim stands.
	m.OK(m.Race(func() { m.b.claims("mysql/1", 4) }, func() error { return release(m.a, "mysql/1")(m.Ctx) }))
	m.writes("mysql/1", 4, true)
	m.a.denied("mysql/2")
	// Renewed between the release's read and write of the lease.
	m.a.meanwhile(func() { m.b.claims("mysql/1", 4) })
	m.OK(release(m.a, "mysql/1")(m.Ctx))
	m.a.claims("mysql/2", 5)
}

// A lease written by another controller since it was read is not overwritten.
func TestLeaseTakenBetweenReadAndWrite(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.a.claims("mysql/0", 1)
	m.b.denied("mysql/1")
	m.a.denied("mysql/2")
	m.pass(term)
	m.a.meanwhile(func() { m.b.claims("mysql/1", 2) })
	m.a.denied("mysql/2") // it read a lapsed lease
	m.b.denied("mysql/0")
	m.pass(term)
	m.a.meanwhile(func() { m.b.claims("mysql/0", 3) }) // a renewal finds that the lease was taken
	m.a.denied("mysql/1")
	m.writes("mysql/0", 3, true)
}

// When leases are lost, or older than their services' own records, no epoch is granted twice.
func TestLeasesRestoredFromABackup(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.a.claims("mysql/1", 1)
	m.OK(m.a.Release(m.Ctx, unit("mysql/1")))
	m.a.claims("mysql/0", 2)
	m.putLease("mysql/1", 1)
	m.a.denied("mysql/0")
	m.writes("mysql/0", 2, true)
	m.a.claims("mysql/1", 3)
	m.writes("mysql/0", 2, false)
	m.putLease("", 0)
	m.a.claims("mysql/0", 4)
	m.writes("mysql/1", 3, false)
}

// A removed service leaves its lease to a cleanup, which leaves a new service of that name alone.
func TestEndLease(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	leave := func(o *modeltxn.Ops) error { return leadership.LeaveLease(m.Ctx, m.DB, o, "mysql") }
	m.Nothing(leave) // it never had a leader
	m.a.claims("mysql/0", 1)
	m.Do(leave)
	arg := "mysql#" + m.leader().Token
	modeltest.Same(t, "to do is", m.CleanupsLeft(), []string{"lease " + arg})
	id := lease.ID(modeltest.UUID, "mysql")
	ends := func(there bool) {
		t.Helper()
		done, err := m.a.EndLease(m.Ctx, arg)
		m.OK(err)
		if l, err := m.a.Leases.Read(m.Ctx, id); !done || err != nil || l.There != there {
			t.Errorf("done: %v, there: %v, %v", done, l.There, err)
		}
	}
	ends(true) // its holder is there: it is that of a new service
	m.Remove(modeldb.UnitsC, "mysql/0")
	m.a.meanwhile(func() { m.putLease("mysql/1", 9) })
	if done, err := m.a.EndLease(m.Ctx, arg); done || err != nil {
		t.Errorf("what another has taken was removed: %v", err)
	}
	m.putLease("mysql/0", 9)
	ends(false)
	ends(false)
	m.putLease("", 10)
	ends(false)
}

// A wait ends when no unit leads any more, or may be expected to.
func TestBlockUntilReleased(t *testing.T) {
	for name, free := range map[string]func(*model){
		"released": func(m *model) { m.OK(m.b.Release(m.Ctx, unit("mysql/0"))) },
		"the holder is dead": func(m *model) {
			m.Do(func(o *modeltxn.Ops) error {
				o.Update(modeldb.UnitsC, "mysql/0", modeltxn.Exists, bson.D{{"$set", bson.D{{"life", entity.Dead}}}})
				return nil
			})
		},
		"the holder is gone": func(m *model) {
			m.Do(func(o *modeltxn.Ops) error { o.Remove(modeldb.UnitsC, "mysql/0", nil); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: until mgo's pings end
				m := newModel(t)
				m.OK(m.a.BlockUntilReleased(m.Ctx, "mysql")) // no one leads
				m.a.claims("mysql/0", 1)
				ctx, cancel := context.WithCancel(m.Ctx)
				cancel()
				if err := m.a.BlockUntilReleased(ctx, "mysql"); !errors.Is(err, context.Canceled) {
					t.Errorf("one leads, and the wait has ended: %v", err)
				}
				begun, done := time.Now(), make(chan error, 1)
				go func() { done <- m.a.BlockUntilReleased(m.Ctx, "mysql") }()
				synctest.Wait()
				free(m)
				m.OK(<-done)
				if passed := time.Since(begun); passed >= term {
					t.Errorf("it ends after %v, as if nobody had told it", passed)
				}
			})
		})
	}
}
