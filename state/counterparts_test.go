package state_test

import (
	"maps"
	"slices"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// hears watches a unit's counterparts, and returns the first event.
func (w *world) hears(unit string, r *state.Relation) (<-chan entity.RelationUnitsChange, entity.RelationUnitsChange) {
	w.Helper()
	events, err := w.st.Watches().RelationUnits(w.ctx, unit, r.ID())
	w.ok(err)
	return events, next(w.T, events)
}

// names checks the names of the units that an event is about.
func (w *world) names(e entity.RelationUnitsChange, want ...string) {
	w.Helper()
	if got := slices.Sorted(maps.Keys(e.Changed)); !slices.Equal(got, want) || len(e.Departed) > 0 {
		w.Errorf("the event is %+v, want %q", e, want)
	}
}

func TestUnitsSeeTheirCounterparts(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("wordpress", statetest.Wordpress, 2)
	r := w.relate("mysql", "wordpress")
	provider, first := w.hears("mysql/0", r)
	w.names(first)
	w.ok(w.started("mysql/0").EnterScope(w.ctx, r.ID()))
	w.ok(w.started("mysql/1").EnterScope(w.ctx, r.ID()))
	requirer, first := w.hears("wordpress/1", r)
	w.names(first, "mysql/0", "mysql/1")
	// Those that were there first hear of their counterpart, not of each other.
	w.ok(w.started("wordpress/0").EnterScope(w.ctx, r.ID()))
	w.names(next(t, provider), "wordpress/0")
	w.ok(w.started("wordpress/1").EnterScope(w.ctx, r.ID()))
	w.names(next(t, provider), "wordpress/1")
	w.ok(w.unit("wordpress/0").LeaveScope(w.ctx, r.ID()))
	w.ok(w.unit("mysql/1").LeaveScope(w.ctx, r.ID()))
	if e := next(t, requirer); len(e.Changed) > 0 || !slices.Equal(e.Departed, []string{"mysql/1"}) {
		t.Errorf("the event is %+v, want that mysql/1 left", e)
	}
}

func TestPeersSeeEachOther(t *testing.T) {
	w := newWorld(t)
	w.deploy("riak", statetest.Riak, 2)
	r := w.relation("riak")
	one, first := w.hears("riak/0", r)
	w.names(first)
	w.ok(w.started("riak/0").EnterScope(w.ctx, r.ID()))
	w.ok(w.started("riak/1").EnterScope(w.ctx, r.ID()))
	w.names(next(t, one), "riak/1")
	_, first = w.hears("riak/1", r)
	w.names(first, "riak/0")
}

// A unit that sees another can read its address at once.
func TestAUnitIsSeenWithItsAddress(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("mysql", "wordpress")
	w.ok(w.machine("0").SetAddresses(w.ctx, []string{"10.0.0.9"}))
	events, first := w.hears("wordpress/0", r)
	w.names(first)
	w.ok(w.started("mysql/0").EnterScope(w.ctx, r.ID()))
	w.names(next(t, events), "mysql/0")
	settings, err := w.unit("wordpress/0").RelationSettings(w.ctx, r.ID(), "mysql/0")
	w.ok(err)
	if want := (map[string]string{"private-address": "10.0.0.9", "ingress-address": "10.0.0.9",
		"egress-subnets": "10.0.0.9/32"}); !maps.Equal(settings, want) {
		t.Errorf("the settings are %v, want %v", settings, want)
	}
}
