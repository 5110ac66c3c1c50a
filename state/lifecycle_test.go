package state_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// world is a model, with helpers for tests.
type world struct {
	*testing.T
	ctx  context.Context
	ctrl *controller.Controller
	st   *state.State

	store *mongo.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctrl, st := statetest.Controller(t)
	return &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st, store: statetest.StoreOf(ctrl)}
}

func (w *world) ok(err error) {
	w.Helper()
	statetest.OK(w, err)
}

// refused checks that err is of a kind, and that its text contains words.
func (w *world) refused(err error, kind entity.Kind, words string) {
	w.Helper()
	statetest.Refused(w, err, kind, words)
}

func (w *world) deploy(name, metadata string, units int) *state.Service {
	w.Helper()
	url := statetest.Charm(w.T, w.st, metadata)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: units})
	w.ok(err)
	return s
}

func (w *world) unit(name string) *state.Unit {
	w.Helper()
	u, err := w.st.Unit(w.ctx, name)
	w.ok(err)
	return u
}

// started returns a unit whose agent has started.
func (w *world) started(name string) *state.Unit {
	w.Helper()
	u := w.unit(name)
	w.ok(u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
	return u
}

func (w *world) relate(a, b string) *state.Relation {
	w.Helper()
	r, err := w.st.AddRelation(w.ctx, a, b)
	w.ok(err)
	return r
}

// addSubordinate returns a principal in the scope of a container relation, whose
// subordinate's agent has not started.
func (w *world) addSubordinate() (principal *state.Unit, r *state.Relation) {
	w.Helper()
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("logging", statetest.Logging, 0)
	r = w.relate("mysql", "logging")
	principal = w.started("mysql/0")
	w.ok(principal.EnterScope(w.ctx, r.ID()))
	return principal, r
}

func (w *world) gone(kind, name string, err error) {
	w.Helper()
	if !errors.Is(err, entity.NotFound) {
		w.Fatalf("%s %s should be gone: %v", kind, name, err)
	}
}

// empty checks that nothing is left of a model but what outlives every entity.
func (w *world) empty() {
	w.Helper()
	left, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	if left > 0 {
		w.Errorf("%d cleanups left", left)
	}
	counts, err := w.st.Counts(w.ctx)
	w.ok(err)
	for _, keep := range []string{"sequence", "charms", "statushistory", "model", "schema", "txns", "txns.log",
		"txns.stash", "refusals"} {
		delete(counts, keep)
	}
	for collection, n := range counts {
		if n > 0 {
			w.Errorf("%d documents left in %s", n, collection)
		}
	}
}

// end does what a unit's agent and its deployer do to end it.
func (w *world) end(name string, relations ...int) {
	w.Helper()
	u := w.unit(name)
	for _, r := range relations {
		w.ok(u.LeaveScope(w.ctx, r))
	}
	w.ok(u.EnsureDead(w.ctx))
	w.ok(u.Remove(w.ctx))
}

func (w *world) endMachine(id string) {
	w.Helper()
	m, err := w.st.Machine(w.ctx, id)
	w.ok(err)
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	if m, err = w.st.Machine(w.ctx, id); errors.Is(err, entity.NotFound) {
		return
	}
	w.ok(err)
	w.ok(m.EnsureDead(w.ctx))
	w.ok(m.Remove(w.ctx))
}

func TestUnreferencedServiceIsRemovedImmediately(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 0)
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.empty()
}

func TestServiceIsRemovedWithItsLastUnit(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	w.started("mysql/0")
	w.started("mysql/1")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	s, err := w.st.Service(w.ctx, "mysql")
	w.ok(err)
	if s.Life() != entity.Dying {
		t.Fatalf("service is %s, want dying", s.Life())
	}
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: s.CharmURL()})
	w.refused(err, entity.AlreadyExists, `cannot add service "mysql": service already exists`)
	_, err = s.AddUnits(w.ctx, 1, nil)
	w.refused(err, entity.NotAlive, "service is not alive")

	if life := w.unit("mysql/0").Life(); life != entity.Alive {
		t.Fatalf("the unit is %s before its agent has seen that its service is dying", life)
	}
	_, _, err = w.st.Cleaner().Cleanup(w.ctx) // the agents are away: the cleaner acts for them
	w.ok(err)
	if life := w.unit("mysql/0").Life(); life != entity.Dying {
		t.Fatalf("unit is %s, want dying", life)
	}
	w.end("mysql/0")
	_, err = w.st.Service(w.ctx, "mysql")
	w.ok(err)
	w.end("mysql/1")
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.endMachine("0")
	w.endMachine("1")
	w.empty()

	again := w.deploy("mysql", statetest.MySQL, 1)
	if _, err := w.st.Unit(w.ctx, "mysql/2"); err != nil {
		t.Errorf("a unit number was reused: %v", err)
	}
	_ = again
}

func TestUnstartedUnitIsRemovedImmediately(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.Unit(w.ctx, "mysql/0")
	w.gone("unit", "mysql/0", err)

	_, err = mustService(w, "mysql").AddUnits(w.ctx, 1, nil)
	w.ok(err)
	u := w.started("mysql/1")
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	if life := w.unit("mysql/1").Life(); life != entity.Dying {
		t.Errorf("unit is %s, want dying", life)
	}
	w.ok(u.Destroy(w.ctx, entity.Destruction{})) // a second one is a no-op
}

func mustService(w *world, name string) *state.Service {
	w.Helper()
	s, err := w.st.Service(w.ctx, name)
	w.ok(err)
	return s
}

func TestMachineWithUnitsIsNotDestroyed(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.started("mysql/0")
	m, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	w.refused(m.Destroy(w.ctx, entity.Destruction{}), entity.InUse, `machine 0 has unit "mysql/0" assigned`)
	svc, err := w.st.Service(w.ctx, "mysql")
	w.ok(err)
	_, err = svc.AddUnits(w.ctx, 2, []entity.Placement{{Machine: "0"}, {Machine: "0"}})
	w.ok(err)
	if got := entity.Hint(m.Destroy(w.ctx, entity.Destruction{})); got != "Destroy its 3 units first: juju destroy-unit mysql/0 mysql/1 mysql/2" {
		t.Errorf("it says %q", got)
	}
	w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/2").Destroy(w.ctx, entity.Destruction{}))

	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.Destroy(w.ctx, entity.Destruction{})) // its unit is Dying
	w.refused(m.Remove(w.ctx), entity.Invalid, "machine is not dead")
	w.refused(m.EnsureDead(w.ctx), entity.InUse, `machine 0 has unit "mysql/0" assigned`)
	w.end("mysql/0")
	w.ok(m.EnsureDead(w.ctx))
	w.ok(m.Remove(w.ctx))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	w.empty()
}

func TestLastManagerIsNotDestroyed(t *testing.T) {
	w := newWorld(t)
	models, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, m := range models {
		if m.Name == state.ControllerModel {
			st, err := w.ctrl.Model(w.ctx, m.UUID)
			w.ok(err)
			machine, err := st.Machine(w.ctx, "0")
			w.ok(err)
			w.refused(machine.Destroy(w.ctx, entity.Destruction{}), entity.InUse, "machine 0 is required by the model")
			return
		}
	}
	t.Fatal("no controller model")
}

func TestRelationIsRemovedByTheLastUnitToLeave(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 1)
	wp, my := w.started("wordpress/0"), w.started("mysql/0")
	r := w.relate("wordpress", "mysql")
	if r.Key() != "wordpress:db mysql:server" {
		t.Errorf("key is %q", r.Key())
	}
	w.ok(wp.EnterScope(w.ctx, r.ID()))
	w.ok(wp.EnterScope(w.ctx, r.ID())) // entering twice is a no-op
	w.ok(my.EnterScope(w.ctx, r.ID()))
	w.refused(wp.EnsureDead(w.ctx), entity.Invalid, "")

	// Destroy both services: the relation is Dying, and keeps them.
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	w.ok(mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.AddRelation(w.ctx, "wordpress", "mysql")
	if err == nil {
		t.Error("a relation was added to a dying service")
	}
	w.ok(my.DestroySelf(w.ctx))
	w.ok(my.DestroySelf(w.ctx)) // it is Dying already
	w.refused(my.EnsureDead(w.ctx), entity.InUse, "in the scope of a relation")
	w.end("mysql/0", r.ID())
	w.ok(my.DestroySelf(w.ctx))           // it is gone
	_, err = w.st.Service(w.ctx, "mysql") // the relation still refers to it
	w.ok(err)
	w.ok(wp.DestroySelf(w.ctx))
	w.ok(wp.LeaveScope(w.ctx, r.ID()))
	// The last unit to leave belonged to the other service.
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	_, err = w.st.RelationByID(w.ctx, r.ID())
	w.gone("relation", r.Key(), err)
	w.end("wordpress/0")
	w.endMachine("0")
	w.endMachine("1")
	w.empty()
}

func TestTwoRelationsBetweenTheSameServices(t *testing.T) {
	w := newWorld(t)
	w.deploy("a", `{name: a, summary: s, description: d, requires: {x: {interface: i}, y: {interface: j}}}`, 1)
	w.deploy("b", `{name: b, summary: s, description: d, provides: {x: {interface: i}, y: {interface: j}}}`, 1)
	r1, r2 := w.relate("a:x", "b:x"), w.relate("a:y", "b:y")
	u := w.started("b/0")
	w.ok(u.EnterScope(w.ctx, r1.ID()))
	w.ok(mustService(w, "b").Destroy(w.ctx, entity.Destruction{})) // r2 is removed, r1 is Dying
	_, err := w.st.RelationByID(w.ctx, r2.ID())
	w.gone("relation", r2.Key(), err)
	w.ok(mustService(w, "a").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("a/0").Destroy(w.ctx, entity.Destruction{}))
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	w.end("b/0", r1.ID())
	for _, s := range []string{"a", "b"} {
		_, err := w.st.Service(w.ctx, s)
		w.gone("service", s, err)
	}
	w.endMachine("0")
	w.endMachine("1")
	w.empty()
}

func TestSubordinateLivesAndDiesWithItsPrincipal(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	logging := w.deploy("logging", statetest.Logging, 0)
	_, err := logging.AddUnits(w.ctx, 1, nil)
	w.refused(err, entity.Invalid, `cannot add unit to service "logging": service is a subordinate`)
	r := w.relate("mysql", "logging")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, r.ID()))
	lg := w.started("logging/0")
	if lg.Principal() != "mysql/0" || lg.Machine() != "" {
		t.Errorf("principal is %q, machine is %q", lg.Principal(), lg.Machine())
	}
	w.ok(lg.EnterScope(w.ctx, r.ID()))
	w.refused(lg.Destroy(w.ctx, entity.Destruction{}), entity.Invalid, `unit "logging/0" is a subordinate`)

	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	w.ok(my.DestroySubordinates(w.ctx))
	w.ok(my.LeaveScope(w.ctx, r.ID()))
	w.refused(my.EnsureDead(w.ctx), entity.HasSubordinates, "unit has subordinates")
	w.end("logging/0", r.ID())
	w.end("mysql/0")
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	w.ok(mustService(w, "logging").Destroy(w.ctx, entity.Destruction{}))
	w.endMachine("0")
	w.empty()
}

func TestSubordinatesEndWithTheirLastContainerRelation(t *testing.T) {
	w := newWorld(t)
	my, r := w.addSubordinate()
	lg := w.started("logging/0")
	w.ok(lg.EnterScope(w.ctx, r.ID()))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	info, err := lg.Info(w.ctx)
	w.ok(err)
	if !info.OrphanedBySubRel {
		t.Error("the subordinate is not reported as an orphan")
	}
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	if life := w.unit("logging/0").Life(); life != entity.Dying {
		t.Errorf("subordinate is %s, want dying", life)
	}
	if life := w.unit("mysql/0").Life(); life != entity.Alive {
		t.Errorf("principal is %s, want alive", life)
	}
	// Until the old subordinate is gone, a new relation cannot be entered.
	w.end("logging/0", r.ID())
	w.ok(my.LeaveScope(w.ctx, r.ID()))
	_, err = w.st.RelationByID(w.ctx, r.ID())
	w.gone("relation", r.Key(), err)
}

func TestFindRelationByEndpoints(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 0)
	w.deploy("mysql", statetest.MySQL, 0)
	w.deploy("riak", statetest.Riak, 0)
	both := `{name: both, summary: s, description: d, provides: {a: {interface: mysql}, b: {interface: mysql}}}`
	w.deploy("both", both, 0)
	for _, c := range []struct {
		ends  []string
		kind  entity.Kind
		words string
	}{
		{[]string{"wordpress", "nosuch"}, entity.NotFound, `service "nosuch" not found`},
		{[]string{"wordpress", "riak"}, entity.NotFound, "no relations found"},
		{[]string{"wordpress:nosuch", "mysql"}, entity.NotFound, `service "wordpress" has no "nosuch" relation`},
		{[]string{"wordpress:", "mysql"}, entity.Invalid, `invalid endpoint "wordpress:"`},
		{[]string{"wordpress"}, entity.Invalid, "a relation must involve two services"},
		{[]string{"wordpress", "both"}, entity.Invalid,
			`ambiguous relation: "wordpress both" could refer to "wordpress:db both:a"; "wordpress:db both:b"`},
	} {
		_, err := w.st.AddRelation(w.ctx, c.ends...)
		w.refused(err, c.kind, c.words)
	}
	_, err := w.st.AddRelation(w.ctx, "both:db", "wordpress")
	if got, want := entity.Hint(err), "It has a (provider, interface mysql), b (provider, interface mysql)"; got != want {
		t.Errorf("of an endpoint that is not there it says %q, want %q", got, want)
	}
	w.relate("mysql", "wordpress")
	_, err = w.st.AddRelation(w.ctx, "wordpress", "mysql")
	w.refused(err, entity.AlreadyExists, `cannot add relation "wordpress:db mysql:server": relation already exists`)

	// A relation is found that has an endpoint which every charm has, although others would fit.
	w.deploy("sub", `{name: sub, summary: s, description: d, subordinate: true, requires: {host: {interface: juju-info, scope: container},
		db: {interface: mysql, scope: container}}}`, 0)
	_, err = w.st.Relation(w.ctx, "sub", "mysql")
	w.refused(err, entity.NotFound, `relation "sub:db mysql:server" not found`)
	host := w.relate("sub:host", "mysql:juju-info")
	db := w.relate("sub", "mysql")
	for _, want := range []*state.Relation{db, host} {
		found, err := w.st.Relation(w.ctx, "mysql", "sub")
		w.ok(err)
		if found.Key() != want.Key() {
			t.Errorf("mysql and sub mean %q, want %q", found.Key(), want.Key())
		}
		w.ok(found.Destroy(w.ctx, entity.Destruction{}))
	}
	peer, err := w.st.Relation(w.ctx, "riak:ring")
	w.ok(err)
	w.refused(peer.Destroy(w.ctx, entity.Destruction{}), entity.Invalid,
		`cannot destroy relation "riak:ring": is a peer relation`)
}

func TestAddAndRemoveManyUnits(t *testing.T) {
	w := newWorld(t)
	n := 45 // more than one transaction adds
	s := w.deploy("mysql", statetest.MySQL, n)
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	_, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	for i := range n {
		_, err := w.st.Unit(w.ctx, fmt.Sprintf("mysql/%d", i))
		w.gone("unit", "mysql", err)
		w.endMachine(fmt.Sprint(i))
	}
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.empty()
}

// A service names its own units, as people count.
func TestUnitNames(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 11)
	w.deploy("wordpress", statetest.Wordpress, 1)
	names, err := s.UnitNames(w.ctx)
	if err != nil || len(names) != 11 || names[0] != "mysql/0" || names[9] != "mysql/9" || names[10] != "mysql/10" {
		t.Errorf("the units are %q, %v", names, err)
	}
}
