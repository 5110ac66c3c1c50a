package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// In each test here another client makes a change between the reads and the commit of an operation, which is refused
// as if the other had come first.

func TestEnterScopeRaces(t *testing.T) {
	for name, change := range map[string]func(w *world, r *state.Relation) error{
		"the relation is destroyed": func(w *world, r *state.Relation) error { return r.Destroy(w.ctx, plain) },
		"the unit is destroyed":     func(w *world, _ *state.Relation) error { return w.unit("mysql/0").Destroy(w.ctx, plain) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy("mysql", statetest.MySQL, 1)
			w.deploy("wordpress", statetest.Wordpress, 1)
			r := w.relate("mysql", "wordpress")
			w.ok(w.started("wordpress/0").EnterScope(w.ctx, r.ID())) // so the relation can be Dying
			w.started("mysql/0")
			w.st.Before(func() { w.ok(change(w, r)) })
			w.refused(w.unit("mysql/0").EnterScope(w.ctx, r.ID()), entity.CannotEnter, "unit or relation is not alive")
			w.checkCounts()
		})
	}
	t.Run("the model is destroyed", func(t *testing.T) {
		w := newWorld(t)
		w.deploy("mysql", statetest.MySQL, 1)
		w.deploy("logging", statetest.Logging, 0)
		r := w.relate("mysql", "logging")
		w.started("mysql/0")
		w.st.Before(func() { w.ok(w.st.Destroy(w.ctx, plain)) })
		w.refused(w.unit("mysql/0").EnterScope(w.ctx, r.ID()), entity.CannotEnter, "is no longer alive")
		w.checkCounts()
	})
}

func TestResolveRaces(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	fails := func() {
		w.ok(u.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "install"`}))
	}
	fails()
	w.st.Before(func() { w.ok(w.unit("mysql/0").Resolve(w.ctx, false)) })
	w.refused(u.Resolve(w.ctx, true), entity.Invalid, "already resolved")
	w.ok(u.ClearResolved(w.ctx))
	w.st.Before(func() { w.ok(u.SetStatus(w.ctx, entity.Status{Status: entity.StatusActive})) })
	w.refused(w.unit("mysql/0").Resolve(w.ctx, true), entity.Invalid, "is not in an error state")
}

func TestRetryProvisioningRaces(t *testing.T) {
	w := newWorld(t)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "cannot start an instance: no room"}))
	w.st.Before(func() { w.provisioned("0") })
	w.refused(m.RetryProvisioning(w.ctx, nil), entity.Invalid, "machine 0 is not in error")
}

func TestUnitSetCharmRaces(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	w.ok(u.Destroy(w.ctx, plain))
	w.st.Before(func() { w.ok(w.unit("mysql/0").EnsureDead(w.ctx)) })
	w.refused(u.SetCharm(w.ctx, s.CharmURL()), entity.NotAlive, `unit "mysql/0" is dead`)
}

func TestServiceRaces(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", settable)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1})
	w.ok(err)
	w.started("mysql/0")
	// The charm no longer has the option that is set, and gets it back.
	other := statetest.Charm(t, w.st, statetest.MySQL)
	upgrades := func(url string) func() {
		return func() {
			_, err := mustService(w, "mysql").SetCharm(w.ctx, state.SetCharmParams{URL: url})
			w.ok(err)
		}
	}
	w.st.Before(upgrades(other))
	w.refused(s.SetConfig(w.ctx, map[string]any{"a": "one"}), entity.Invalid, `unknown option "a"`)
	upgrades(url)()
	// A Dying service gets neither constraints nor the new charm's peers.
	w.st.Before(func() { w.ok(mustService(w, "mysql").Destroy(w.ctx, plain)) })
	w.refused(s.SetConstraints(w.ctx, statetest.Constraints("mem=2G")), entity.NotAlive, `service "mysql" is not alive`)
	w.deploy("db", statetest.MySQL, 1)
	w.started("db/0")
	peers := statetest.Charm(t, w.st, `{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}},
  peers: {ring: {interface: mysql}}}`)
	db := mustService(w, "db")
	w.st.Before(func() { w.ok(mustService(w, "db").Destroy(w.ctx, plain)) })
	_, err = db.SetCharm(w.ctx, state.SetCharmParams{URL: peers})
	w.ok(err)
	_, err = w.st.Relation(w.ctx, "db:ring")
	w.refused(err, entity.NotFound, "not found")
	w.checkCounts()
}
