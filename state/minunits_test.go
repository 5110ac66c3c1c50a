package state_test

import (
	"errors"
	"sync"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// alive returns how many units of a service are, and how many there are in all.
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

// kept has the worker look at the service, and wants it to have units.
func (w *world) kept(service string, alive, all int) {
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
	w.kept("mysql", 1, 1)
	w.ok(s.SetMinUnits(w.ctx, 3))
	if got := mustService(w, "mysql").MinUnits(); got != 3 {
		t.Errorf("it keeps %d", got)
	}
	w.kept("mysql", 3, 3)
	w.kept("mysql", 3, 3)
	w.started("mysql/0")
	w.destroyUnit("mysql/0") // Dying units don't count
	w.destroyUnit("mysql/1") // this one is gone at once
	w.kept("mysql", 3, 4)
	w.end("mysql/0")
	w.kept("mysql", 3, 3)
	w.ok(s.SetMinUnits(w.ctx, 2)) // none is taken away
	w.kept("mysql", 3, 3)
	_, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.kept("mysql", 4, 4)
	w.ok(s.SetMinUnits(w.ctx, 0))
	w.destroyUnit("mysql/2")
	w.destroyUnit("mysql/3")
	w.destroyUnit("mysql/4")
	w.kept("mysql", 1, 1)
	if m := w.status("mysql").Services[0].MinUnits; m != 0 {
		t.Errorf("status shows that %d are kept", m)
	}
	// More than one transaction adds.
	w.ok(s.SetMinUnits(w.ctx, 45))
	w.kept("mysql", 45, 45)
	w.truth()
	w.right()
}

// A change of the units wakes who watches, where a number is kept; no other does.
func TestWatchMinUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 4)
	w.deploy("wordpress", statetest.Wordpress, 2)
	w.started("mysql/0")
	events, err := w.st.MinUnits().WatchMinUnits(w.ctx)
	w.ok(err)
	wants := func(services ...string) { t.Helper(); named(t, events, services...) }
	if first := next(t, events); len(first) != 0 {
		t.Errorf("first event names %q, want nothing", first)
	}
	w.destroyUnit("wordpress/0")
	w.ok(s.SetMinUnits(w.ctx, 2))
	wants("mysql")
	w.destroyUnit("mysql/0")
	wants("mysql")
	w.destroyUnit("mysql/1")
	wants("mysql")
	w.ok(s.SetMinUnits(w.ctx, 3))
	wants("mysql")
	w.ok(s.SetMinUnits(w.ctx, 3)) // as it was
	w.ok(mustService(w, "wordpress").SetMinUnits(w.ctx, 1))
	wants("wordpress")
	// Another document, which has changed as often as the first.
	w.ok(mustService(w, "wordpress").SetMinUnits(w.ctx, 0))
	w.ok(mustService(w, "wordpress").SetMinUnits(w.ctx, 2))
	wants("wordpress")

	if events, err = w.st.MinUnits().WatchMinUnits(w.ctx); err != nil {
		t.Fatal(err)
	}
	wants("mysql", "wordpress")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	wants("mysql")
}

func TestServicesWithoutMinUnits(t *testing.T) {
	w := newWorld(t)
	sub := w.deploy("logging", statetest.Logging, 0)
	w.refused(sub.SetMinUnits(w.ctx, 1), entity.Invalid, `cannot set minimum units for service "logging": service is a subordinate`)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.refused(s.SetMinUnits(w.ctx, -1), entity.Invalid, `cannot set minimum units for service "mysql": cannot set a negative minimum number of units`)
	w.ok(s.SetMinUnits(w.ctx, 2))
	w.started("mysql/0")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.refused(s.SetMinUnits(w.ctx, 1), entity.NotAlive, `cannot set minimum units for service "mysql": service is not alive`)
	w.kept("mysql", 1, 1)
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	w.kept("mysql", 0, 0)
	w.refused(s.SetMinUnits(w.ctx, 1), entity.NotFound, `service "mysql" not found`)

	// Removed at once, with its number.
	s = w.deploy("riak", statetest.Riak, 0)
	w.ok(s.SetMinUnits(w.ctx, 2))
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.kept("riak", 0, 0)
	w.ok(sub.Destroy(w.ctx, entity.Destruction{}))
	w.endMachine("0")
	w.empty()

	// Not in a model that is going away.
	s = w.deploy("mysql", statetest.MySQL, 0)
	w.ok(s.SetMinUnits(w.ctx, 2))
	w.ok(w.st.Die(w.ctx))
	w.kept("mysql", 0, 0)
}

// What comes between the reads and the commit of each.
func TestMinUnitsRaces(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 3)
	w.started("mysql/0")
	changes := func() int64 {
		n, err := w.st.MinUnitsChanges("mysql")
		w.ok(err)
		return n
	}
	// A number that is set while a unit goes: either counts the unit no more, or is
	// told that it has gone.
	w.st.Before(func() { w.ok(s.SetMinUnits(w.ctx, 3)) })
	w.destroyUnit("mysql/0")
	if changes() != 1 {
		t.Errorf("a unit went, and nobody was told")
	}
	w.kept("mysql", 3, 4)
	// Cleared while one goes.
	w.st.Before(func() { w.ok(mustService(w, "mysql").SetMinUnits(w.ctx, 0)) })
	w.destroyUnit("mysql/1")
	w.ok(s.SetMinUnits(w.ctx, 3))
	// Somebody else adds what is missing.
	w.st.Before(func() {
		_, err := mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
		w.ok(err)
	})
	w.kept("mysql", 3, 4)
	// One is added and another removed: their number is the same, and not they.
	w.destroyUnit("mysql/2")
	w.st.Before(func() {
		_, err := mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
		w.ok(err)
		w.end("mysql/0")
	})
	w.kept("mysql", 3, 3)
	// The service goes, or keeps none any more.
	w.destroyUnit("mysql/3")
	w.st.Before(func() { w.ok(mustService(w, "mysql").SetMinUnits(w.ctx, 0)) })
	w.kept("mysql", 2, 2)
	w.ok(s.SetMinUnits(w.ctx, 3))
	w.st.Before(func() { w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{})) })
	w.kept("mysql", 2, 2)
	s = w.deploy("riak", statetest.Riak, 0)
	w.st.Before(func() { w.ok(mustService(w, "riak").SetMinUnits(w.ctx, 5)) })
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	if _, err := w.st.MinUnitsChanges("riak"); !errors.Is(err, entity.NotFound) {
		t.Errorf("what the service kept is left behind: %v", err)
	}
	w.truth()
}

// Several controllers keep the units of one service, which others destroy: there
// are never too many, and in the end not too few.
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
			t.Errorf("%d are too many", alive)
		}
		w.kept("mysql", units, units)
	}
	w.truth()
}

func (w *world) unitNames(service string) (names []string) {
	for _, s := range w.status(service).Services {
		for _, u := range s.Units {
			names = append(names, u.Name)
		}
	}
	return names
}
