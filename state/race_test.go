package state_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// Each test here changes what a transaction was built from, between its reads
// and its commit.

func TestAddRelationDuringDestroyService(t *testing.T) {
	w := newWorld(t)
	my := w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 0)
	w.started("mysql/0")
	var r *state.Relation
	w.st.Before(func() { r = w.relate("wordpress", "mysql") })
	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.RelationByID(w.ctx, r.ID())
	w.gone("relation", r.Key(), err)
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.ok(mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{}))
	w.endMachine("0")
	w.empty()
}

func TestNewSubordinateDuringDestroyUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	r := w.relate("mysql", "logging")
	my := w.started("mysql/0")
	w.st.Before(func() { w.ok(w.unit("mysql/0").EnterScope(w.ctx, r.ID())) })
	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	_, _, err := w.st.Cleaner().Cleanup(w.ctx) // the principal's agent is away
	w.ok(err)
	if life := w.unit("logging/0").Life(); life != entity.Dying {
		t.Errorf("the subordinate is %s, want dying", life)
	}
}

// A principal enters two relations with a subordinate service at once, while another subordinate of it goes.
func TestOneSubordinateOfTwoRelations(t *testing.T) {
	w := newWorld(t)
	principal, logs := w.addSubordinate()
	w.deploy("log", "{name: log, summary: s, description: d, subordinate: true, requires: "+
		"{a: {interface: juju-info, scope: container}, b: {interface: juju-info, scope: container}}}", 0)
	a, b := w.relate("mysql", "log:a"), w.relate("mysql", "log:b")
	w.st.Before(func() {
		w.ok(logs.Destroy(w.ctx, entity.Destruction{}))
		w.ok(principal.LeaveScope(w.ctx, logs.ID()))
		w.clean()
		w.end("logging/0")
		w.ok(principal.EnterScope(w.ctx, b.ID()))
	})
	w.ok(principal.EnterScope(w.ctx, a.ID()))
	if n, err := w.st.DB().Count(w.ctx, "units", bson.D{{"principal", "mysql/0"}}); n != 1 || err != nil {
		t.Errorf("it has %d subordinates, %v", n, err)
	}
}

func TestAddRelationToAReplacedService(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 0)
	my := w.deploy("db", statetest.MySQL, 0)
	w.st.Before(func() {
		w.ok(my.Destroy(w.ctx, entity.Destruction{}))
		w.deploy("db", statetest.Riak, 0)
	})
	_, err := w.st.AddRelation(w.ctx, "wordpress:db", "db:server")
	w.refused(err, entity.NotFound, `service "db" has no "server" relation`)
}

func TestRemovedUnitLeavesNoPortOpen(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	open := entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}}}
	first := w.unit("mysql/0")
	w.st.Before(func() { w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{})) })
	if err := first.CommitHook(w.ctx, open); err == nil {
		t.Error("a removed unit has opened a port")
	}
	_, err := mustService(w, "mysql").AddUnits(w.ctx, 2, statetest.To("0", "0"))
	w.ok(err)
	w.st.Before(func() { w.ok(w.unit("mysql/1").CommitHook(w.ctx, open)) })
	w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.started("mysql/2").CommitHook(w.ctx, open))
}

// A change that the store refused only on applying it would stay half done
// forever, and block every change of the same documents.
func TestChangeThatTheStoreCannotApplyIsRefused(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml",
		"options:\n  a: {type: string}\n  b: {type: string}\n")
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1})
	w.ok(err)
	w.deploy("wordpress", statetest.Wordpress, 0)
	r := w.relate("wordpress", "mysql")
	u := w.started("mysql/0")
	w.ok(u.EnterScope(w.ctx, r.ID()))
	long := strings.Repeat("x", 5<<20)
	set := func(key, value string) error {
		return u.CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{r.ID(): {key: value}}})
	}
	for _, key := range []string{"", "a\x00b"} {
		w.refused(set(key, "x"), entity.Invalid, "")
	}
	w.ok(set("a", long[:1<<20]))
	w.refused(set("b", long[:1<<20]), entity.Invalid, "settings of a unit in a relation: ")
	w.ok(set("b", "short"))
	w.ok(s.SetConfig(w.ctx, map[string]any{"a": long}))
	w.refused(s.SetConfig(w.ctx, map[string]any{"b": long}), entity.Invalid, "")
	w.ok(s.SetConfig(w.ctx, map[string]any{"b": "short"}))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.ok(u.LeaveScope(w.ctx, r.ID()))
}

// The caller's context ends before the transaction, or after it and before it is known to be on disk.
func TestCancelledAddServiceAddsAllOrNothing(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.Riak)
	for name, hook := range map[string]func(func()) mongotest.TestHook{
		"before": func(cancel func()) mongotest.TestHook { return mongotest.TestHook{Before: cancel} },
		"after":  func(cancel func()) mongotest.TestHook { return mongotest.TestHook{After: cancel} },
	} {
		ctx, cancel := context.WithCancel(w.ctx)
		mongotest.HooksOf(w.st.DB()).Set(hook(cancel))
		_, err := w.st.AddService(ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: 20})
		s, missing := w.st.Service(w.ctx, name)
		if name == "before" {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			w.gone("service", name, missing)
			continue
		}
		w.ok(missing)
		if units, err := s.UnitNames(w.ctx); err != nil || len(units) != 20 {
			t.Errorf("the service has units %v (%v)", units, err)
		}
	}
	w.checkCounts()
}

// More units than one transaction adds follow in others, and are missing if one of these fails.
func TestFailedAddServiceNamesItsUnits(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL)
	ctx, cancel := context.WithCancel(w.ctx)
	w.st.BeforeNext(1, cancel)
	all := 1000
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: all})
	units, uerr := mustService(w, "mysql").UnitNames(w.ctx)
	if uerr != nil || len(units) == 0 || len(units) == all {
		t.Errorf("the service has %d units (%v)", len(units), uerr)
	}
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), fmt.Sprintf(`service "mysql" is added with %d of %d units`, len(units), all)) ||
		!strings.HasSuffix(entity.Hint(err), fmt.Sprintf("juju add-unit mysql -n %d", all-len(units))) {
		t.Errorf("got %v: %s", err, entity.Hint(err))
	}
	w.checkCounts()
}

func TestClaimDuringServiceRemoval(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.unit("mysql/0")
	w.st.Before(func() {
		w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
		w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	})
	_, err := u.ClaimLeadership(w.ctx, state.MinLease)
	w.refused(err, entity.LeadershipRefused, "leadership claim denied")
}

// A subordinate found without a container relation is looked at again before it
// is set Dying, because its principal might have entered another one meanwhile.
func TestNewRelationKeepsAnOrphan(t *testing.T) {
	for by, destroy := range map[string]func(w *world) error{
		"its agent":   func(w *world) error { return w.unit("logging/0").DestroySelf(w.ctx) },
		"the cleaner": func(w *world) error { _, _, err := w.st.Cleaner().Cleanup(w.ctx); return err },
	} {
		t.Run(by, func(t *testing.T) {
			w := newWorld(t)
			my, first := w.addSubordinate()
			w.ok(my.LeaveScope(w.ctx, first.ID()))
			w.started("logging/0")
			w.ok(first.Destroy(w.ctx, entity.Destruction{}))
			w.deploy("wordpress", statetest.Wordpress, 0)
			goes := w.relate("wordpress", "logging")
			var second *state.Relation
			w.st.Before(func() {
				second = w.relate("mysql", "logging")
				w.ok(my.EnterScope(w.ctx, second.ID()))
				w.ok(goes.Destroy(w.ctx, entity.Destruction{})) // as many relations as before
			})
			w.ok(destroy(w))
			if life := w.unit("logging/0").Life(); life != entity.Alive {
				t.Errorf("the subordinate is %s, though its principal entered another relation", life)
			}
			w.checkCounts()

			// It stays too if a relation was added that its principal has yet to
			// enter.
			w.ok(my.LeaveScope(w.ctx, second.ID()))
			w.ok(second.Destroy(w.ctx, entity.Destruction{}))
			var third *state.Relation
			w.st.Before(func() { third = w.relate("mysql", "logging") })
			w.ok(destroy(w))
			w.ok(my.EnterScope(w.ctx, third.ID()))
			if life := w.unit("logging/0").Life(); life != entity.Alive {
				t.Errorf("the subordinate is %s after its relation was added again", life)
			}
			w.checkCounts()
		})
	}
}

// A service is bound, or subnets move, while a unit is placed on a machine without an address in the space, and the other way
// round: the second is refused.
func TestUnitsArePlacedWhileTheirServiceIsBound(t *testing.T) {
	add := func(s *scene) error {
		_, err := s.service("idle").AddUnits(s.ctx, 1, statetest.To("4"))
		return err
	}
	bind := func(s *scene) error { return s.service("idle").Bind(s.ctx, map[string]string{"": "db"}, false) }
	move := func(s *scene) error {
		_, err := s.st.Settings().Networks().MoveSubnets(s.ctx, "alpha", []string{"10.1.0.0/16"}, false)
		return err
	}
	for name, test := range map[string]struct {
		bound         bool
		address       string
		first, second func(*scene) error
		want          string
	}{
		"bound before the placement": {false, "10.0.0.8", bind, add, `cannot assign unit of "idle" to machine 4: it has no address in space "db"`},
		"bound after it":             {false, "10.0.0.8", add, bind, `cannot bind service "idle": machines without an address in space "db": 4`},
		"subnets move before":        {true, "10.1.0.8", move, add, `cannot assign unit of "idle" to machine 4: it has no address in space "db"`},
		"subnets move after":         {true, "10.1.0.8", add, move, `cannot move subnets to space "alpha": service "idle" would be on machines without an address in space "db": 4`},
		"the address goes before":    {true, "10.1.0.8", func(s *scene) error { hasAddresses("4", "10.0.0.8")(s); return nil }, add, `cannot assign unit of "idle" to machine 4: it has no address in space "db"`},
		"constraints come before": {false, "10.0.0.8", serviceDoes("idle", func(s *scene, x *state.Service) error {
			return x.SetConstraints(s.ctx, statetest.Constraints("spaces=db"))
		}), add, `cannot assign unit of "idle" to machine 4: it has no address in space "db"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := sharedStage(t).scene(t, nil)
			withSpaces(s)
			hasAddresses("4", test.address)(s)
			if test.bound {
				s.ok(bind(s))
			}
			s.st.Before(func() { s.ok(test.first(s)) })
			s.refused(test.second(s), entity.Invalid, test.want)
			s.checkIntact(t.Context())
		})
	}
}
