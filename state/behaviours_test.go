package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Behaviours of doc/behaviours.txt that no other test covers on the way.

func TestEntitiesBeginAlive(t *testing.T) {
	w := newWorld(t)
	my := w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 0)
	r := w.relate("mysql", "wordpress")
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	for name, life := range map[string]entity.Life{"service": my.Life(), "unit": w.unit("mysql/0").Life(),
		"relation": r.Life(), "machine": m.Life()} {
		if life != entity.Alive {
			t.Errorf("a new %s is %s", name, life)
		}
	}
}

func TestOnlyAliveUnitsEnterAliveRelations(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 3)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("mysql", "wordpress")
	first, second, third := w.started("mysql/0"), w.started("mysql/1"), w.started("mysql/2")
	w.ok(second.Destroy(w.ctx, entity.Destruction{}))
	w.refused(second.EnterScope(w.ctx, r.ID()), entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
	w.ok(first.EnterScope(w.ctx, r.ID()))
	w.ok(first.EnterScope(w.ctx, r.ID())) // entering twice is a no-op
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.refused(third.EnterScope(w.ctx, r.ID()), entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
	w.ok(third.LeaveScope(w.ctx, r.ID())) // not in scope: a no-op
	w.ok(first.LeaveScope(w.ctx, r.ID()))
	w.refused(third.EnterScope(w.ctx, r.ID()), entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
	w.checkCounts()
}

func TestUnitInScopeCannotBeDead(t *testing.T) {
	w := newWorld(t)
	w.deploy("riak", statetest.Riak, 1)
	u := w.started("riak/0")
	infos, err := u.Relations(w.ctx)
	w.ok(err)
	w.ok(u.EnterScope(w.ctx, infos[0].ID))
	w.refused(u.EnsureDead(w.ctx), entity.Invalid, `unit "riak/0" is not dying`)
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	w.refused(u.EnsureDead(w.ctx), entity.InUse, "is in the scope of a relation")
	w.ok(u.LeaveScope(w.ctx, infos[0].ID))
	w.refused(u.Remove(w.ctx), entity.InUse, "unit is not dead")
	w.ok(u.EnsureDead(w.ctx))
	w.ok(u.EnsureDead(w.ctx)) // a second one is a no-op
	w.ok(u.Remove(w.ctx))
	w.ok(u.Remove(w.ctx))
}

func TestServiceNameIsFreeAfterRemoval(t *testing.T) {
	w := newWorld(t)
	my := w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("mysql", "wordpress")
	_, err := w.st.AddRelation(w.ctx, "wordpress", "mysql")
	w.refused(err, entity.AlreadyExists, `cannot add relation "wordpress:db mysql:server": relation already exists`)
	u, wp := w.started("mysql/0"), w.started("wordpress/0")
	w.ok(u.EnterScope(w.ctx, r.ID()))
	w.ok(wp.EnterScope(w.ctx, r.ID()))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	_, err = w.st.AddRelation(w.ctx, "wordpress", "mysql")
	w.refused(err, entity.AlreadyExists, "the old one is still being removed")
	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	deploy := func() error {
		_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: my.CharmURL()})
		return err
	}
	w.refused(deploy(), entity.AlreadyExists, `cannot add service "mysql": service already exists`)
	w.ok(u.DestroySelf(w.ctx))
	w.end("mysql/0", r.ID())
	w.refused(deploy(), entity.AlreadyExists, "service already exists") // the relation keeps it
	w.ok(wp.LeaveScope(w.ctx, r.ID()))
	w.ok(deploy())
	if again := w.relate("mysql", "wordpress"); again.ID() == r.ID() || again.Key() != r.Key() {
		t.Errorf("the new relation is %d %q, the old one was %d %q", again.ID(), again.Key(), r.ID(), r.Key())
	}
}

func TestOnlyAliveServicesGetUnitsAndRelations(t *testing.T) {
	w := newWorld(t)
	my := w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 0)
	w.started("mysql/0")
	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	_, err := my.AddUnits(w.ctx, 1, nil)
	w.refused(err, entity.NotAlive, `cannot add unit to service "mysql": service is not alive`)
	_, err = w.st.AddRelation(w.ctx, "wordpress", "mysql")
	w.refused(err, entity.NotAlive, `service "mysql" is not alive`)
	w.refused(my.Expose(w.ctx, nil), entity.NotAlive, `service "mysql" is not alive`)
}

// dump returns the contents of the model, for comparison.
func (w *world) dump() string {
	w.Helper()
	all, err := w.st.Dump(w.ctx)
	w.ok(err)
	text, err := json.Marshal(all)
	w.ok(err)
	return string(text)
}

func (w *world) relation(names ...string) *state.Relation {
	w.Helper()
	r, err := w.st.Relation(w.ctx, names...)
	w.ok(err)
	return r
}

func TestDestroyingADyingEntityDoesNothing(t *testing.T) {
	w := newWorld(t)
	w.related()
	m := w.provisioned("0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	my, r := mustService(w, "mysql"), w.relation("wordpress", "mysql")
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	before := w.dump()
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.ok(my.Destroy(w.ctx, entity.Destruction{}))
	if after := w.dump(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestRelationSettingsAreDeletedByACleanup(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("mysql", "wordpress")
	my, wp := w.started("mysql/0"), w.started("wordpress/0")
	w.ok(my.EnterScope(w.ctx, r.ID()))
	w.ok(wp.EnterScope(w.ctx, r.ID()))
	w.ok(my.CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{r.ID(): {"port": "3306"}}}))
	w.ok(my.LeaveScope(w.ctx, r.ID()))
	told, err := wp.RelationSettings(w.ctx, r.ID(), "mysql/0")
	w.ok(err)
	if told["port"] != "3306" {
		t.Errorf("settings of a unit that left are %v", told) // they last as long as the relation
	}
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.ok(wp.LeaveScope(w.ctx, r.ID()))
	settings := func() int {
		counts, err := w.st.Counts(t.Context())
		w.ok(err)
		return counts["settings"]
	}
	if n := settings(); n != 4 {
		t.Errorf("%d settings before the cleanup, want those of two services and two units", n)
	}
	w.clean()
	if n := settings(); n != 2 {
		t.Errorf("%d settings after the cleanup, want those of the services", n)
	}
	// A hook that still runs is told in the words that the ops framework looks for.
	for _, of := range []string{"mysql/0", "mysql", "wordpress/0", "wordpress"} {
		_, err := wp.RelationSettings(w.ctx, r.ID(), of)
		w.refused(err, entity.NotFound, "relation not found")
	}
}

// A subordinate runs on its principals' machines, so its charm must support their base, whatever its own is.
func TestSubordinatesSupportTheirPrincipalsBase(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 0) // on jammy
	for _, c := range []struct{ name, series, refusal string }{
		{"both", "series: [noble, jammy]", ""},
		{"one", "series: [noble]", "subordinate must support principal application's base; subordinate only supports: [ubuntu@24.04]"},
	} {
		meta := strings.Replace(statetest.Logging, "subordinate:", c.series+", subordinate:", 1)
		_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: c.name, Series: "noble", CharmURL: statetest.Charm(t, w.st, meta)})
		w.ok(err)
		_, err = w.st.AddRelation(w.ctx, "mysql", c.name)
		if c.refusal == "" {
			w.ok(err)
			continue
		}
		w.refused(err, entity.Invalid, c.refusal)
	}
}
