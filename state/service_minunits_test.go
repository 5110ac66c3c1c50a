package state_test

import (
	"errors"
	"sync"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// alive returns how many units of a service are Alive, and how many exist.
func (w *world) alive(service string) (alive, all int) {
	w.Helper()
	for _, s := range w.status().Services {
		if s.Name != service {
			continue
		}
		for _, u := range s.Units {
			all++
			if u.Life == entity.Alive {
				alive++
			}
		}
	}
	return alive, all
}

// checkMinUnits runs the worker once for the service, and checks its number of units.
func (w *world) checkMinUnits(service string, alive, all int) {
	w.Helper()
	w.ok(w.st.MinUnits().EnsureMinUnits(w.ctx, service))
	if a, n := w.alive(service); a != alive || n != all {
		w.Errorf("%s has %d units, %d alive; want %d, %d alive", service, n, a, all, alive)
	}
}

func (w *world) destroyUnit(name string) {
	w.Helper()
	w.ok(w.unit(name).Destroy(w.ctx, entity.Destruction{}))
}

func TestMinUnits(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.checkMinUnits("mysql", 1, 1)
	w.ok(s.SetMinUnits(w.ctx, 3))
	if got := mustService(w, "mysql").MinUnits(); got != 3 {
		t.Errorf("MinUnits is %d", got)
	}
	w.checkMinUnits("mysql", 3, 3)
	w.checkMinUnits("mysql", 3, 3)
	w.started("mysql/0")
	w.destroyUnit("mysql/0") // Dying units don't count
	w.destroyUnit("mysql/1") // removed at once
	w.checkMinUnits("mysql", 3, 4)
	w.end("mysql/0")
	w.checkMinUnits("mysql", 3, 3)
	w.ok(s.SetMinUnits(w.ctx, 2)) // removes no unit
	w.checkMinUnits("mysql", 3, 3)
	if got := mustService(w, "mysql").MinUnits(); got != 2 {
		t.Errorf("MinUnits is %d after a change", got)
	}
	_, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.checkMinUnits("mysql", 4, 4)
	w.ok(s.SetMinUnits(w.ctx, 0))
	w.destroyUnit("mysql/2")
	w.destroyUnit("mysql/3")
	w.destroyUnit("mysql/4")
	w.checkMinUnits("mysql", 1, 1)
	if m := w.status("mysql").Services[0].MinUnits; m != 0 {
		t.Errorf("status shows %d units kept", m)
	}
	// Add more units than one transaction holds.
	w.ok(s.SetMinUnits(w.ctx, 45))
	w.checkMinUnits("mysql", 45, 45)
	w.checkCounts()
	w.checkClean()
}

// A change of the units wakes the watcher if a minimum is set, and only then.
func TestWatchMinUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 4)
	w.deploy("wordpress", statetest.Wordpress, 2)
	w.started("mysql/0")
	events, err := w.st.MinUnits().WatchMinUnits(w.ctx)
	w.ok(err)
	expect := func(services ...string) { t.Helper(); named(t, events, services...) }
	if first := next(t, events); len(first) != 0 {
		t.Errorf("first event has %q, want nothing", first)
	}
	w.destroyUnit("wordpress/0")
	w.ok(s.SetMinUnits(w.ctx, 2))
	expect("mysql")
	w.destroyUnit("mysql/0")
	expect("mysql")
	w.destroyUnit("mysql/1")
	expect("mysql")
	w.ok(s.SetMinUnits(w.ctx, 3))
	expect("mysql")
	w.ok(s.SetMinUnits(w.ctx, 3)) // no change
	w.ok(mustService(w, "wordpress").SetMinUnits(w.ctx, 1))
	expect("wordpress")
	// A second document that has changed as often as the first.
	w.ok(mustService(w, "wordpress").SetMinUnits(w.ctx, 0))
	w.ok(mustService(w, "wordpress").SetMinUnits(w.ctx, 2))
	expect("wordpress")

	if events, err = w.st.MinUnits().WatchMinUnits(w.ctx); err != nil {
		t.Fatal(err)
	}
	expect("mysql", "wordpress")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	expect("mysql")
}

func TestServicesWithoutMinUnits(t *testing.T) {
	w := newWorld(t)
	sub := w.deploy("logging", statetest.Logging, 0)
	w.refused(sub.SetMinUnits(w.ctx, 1), entity.Invalid,
		`cannot set minimum units for service "logging": service is a subordinate`)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.refused(s.SetMinUnits(w.ctx, -1), entity.Invalid,
		`cannot set minimum units for service "mysql": cannot set a negative minimum number of units`)
	w.refused(s.SetMinUnits(w.ctx, 1001), entity.Invalid,
		`cannot set minimum units for service "mysql": the minimum number of units is at most 1000`)
	w.ok(s.SetMinUnits(w.ctx, 2))
	w.started("mysql/0")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.refused(s.SetMinUnits(w.ctx, 1), entity.NotAlive,
		`cannot set minimum units for service "mysql": service is not alive`)
	w.checkMinUnits("mysql", 1, 1)
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	w.checkMinUnits("mysql", 0, 0)
	w.refused(s.SetMinUnits(w.ctx, 1), entity.NotFound, `service "mysql" not found`)

	// A service that is removed at once loses its minimum too.
	s = w.deploy("riak", statetest.Riak, 0)
	w.ok(s.SetMinUnits(w.ctx, 2))
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.checkMinUnits("riak", 0, 0)
	w.ok(sub.Destroy(w.ctx, entity.Destruction{}))
	w.endMachine("0")
	w.empty()

	// No units are added to a model that is no longer Alive.
	s = w.deploy("mysql", statetest.MySQL, 0)
	w.ok(s.SetMinUnits(w.ctx, 2))
	w.ok(w.st.Die(w.ctx))
	w.checkMinUnits("mysql", 0, 0)
}

// Changes between the reads and the commit of each operation.
func TestMinUnitsRaces(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 3)
	w.started("mysql/0")
	changes := func() int64 {
		n, err := w.st.MinUnitsChanges(t.Context(), "mysql")
		w.ok(err)
		return n
	}
	// The minimum is set while a unit is destroyed: either the unit is not counted,
	// or the worker is notified.
	w.st.Before(func() { w.ok(s.SetMinUnits(w.ctx, 3)) })
	w.destroyUnit("mysql/0")
	if changes() != 1 {
		t.Errorf("a unit was destroyed, and the worker was not notified")
	}
	w.checkMinUnits("mysql", 3, 4)
	// The minimum is cleared while a unit is destroyed.
	w.st.Before(func() { w.ok(mustService(w, "mysql").SetMinUnits(w.ctx, 0)) })
	w.destroyUnit("mysql/1")
	w.ok(s.SetMinUnits(w.ctx, 3))
	// Another client adds the missing unit.
	w.st.Before(func() {
		_, err := mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
		w.ok(err)
	})
	w.checkMinUnits("mysql", 3, 4)
	// A unit is added and another removed: the count is the same, the units are
	// not.
	w.destroyUnit("mysql/2")
	w.st.Before(func() {
		_, err := mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
		w.ok(err)
		w.end("mysql/0")
	})
	w.checkMinUnits("mysql", 3, 3)
	// The service is destroyed, or its minimum is cleared.
	w.destroyUnit("mysql/3")
	w.st.Before(func() { w.ok(mustService(w, "mysql").SetMinUnits(w.ctx, 0)) })
	w.checkMinUnits("mysql", 2, 2)
	w.ok(s.SetMinUnits(w.ctx, 3))
	w.st.Before(func() { w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{})) })
	w.checkMinUnits("mysql", 2, 2)
	s = w.deploy("riak", statetest.Riak, 0)
	w.st.Before(func() { w.ok(mustService(w, "riak").SetMinUnits(w.ctx, 5)) })
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	if _, err := w.st.MinUnitsChanges(t.Context(), "riak"); !errors.Is(err, entity.NotFound) {
		t.Errorf("the service's minimum was left behind: %v", err)
	}
	w.checkCounts()
}

// Several controllers keep the minimum of one service whose units users
// destroy. There are never too many units, and in the end not too few.
func TestConcurrentMinUnitsWorkers(t *testing.T) {
	const units = 5
	c := newControllers(t, 3)
	w := c.worlds[0]
	s := w.deploy("mysql", statetest.MySQL, 2)
	w.ok(s.SetMinUnits(w.ctx, units))
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		var group sync.WaitGroup
		for i, w := range c.worlds {
			group.Go(func() {
				for {
					err := w.st.MinUnits().EnsureMinUnits(w.ctx, "mysql")
					if err == nil {
						return
					}
					if !errors.Is(err, entity.Contention) {
						t.Error(err)
						return
					}
				}
			})
			if i == 0 {
				continue
			}
			group.Go(func() {
				names := w.unitNames("mysql")
				if len(names) == 0 {
					return
				}
				u, err := w.st.Unit(w.ctx, names[i%len(names)])
				if err == nil {
					err = u.Destroy(w.ctx, entity.Destruction{})
				}
				if err != nil && !errors.Is(err, entity.Contention) && !errors.Is(err, entity.NotFound) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if alive, _ := w.alive("mysql"); alive > units {
			t.Errorf("%d units are Alive, too many", alive)
		}
		w.checkMinUnits("mysql", units, units)
	}
	w.checkCounts()
}

func (w *world) unitNames(service string) (names []string) {
	for _, s := range w.status(service).Services {
		for _, u := range s.Units {
			names = append(names, u.Name)
		}
	}
	return names
}

// A service that is being destroyed keeps no number of units any more.
func TestADyingServiceHasNoMinimum(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.started("mysql/0")
	w.ok(s.SetMinUnits(w.ctx, 3))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	if now := mustService(w, "mysql"); now.Life() != entity.Dying || now.MinUnits() != 0 {
		t.Errorf("the service is %s and keeps %d units", now.Life(), now.MinUnits())
	}
	w.checkClean()
}
