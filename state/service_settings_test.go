package state_test

import (
	"errors"
	"maps"
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// forAll is what a hook has set for its whole service in one relation.
func forAll(relation int, epoch int64, settings map[string]string) entity.HookChanges {
	return entity.HookChanges{Applications: map[int]map[string]string{relation: settings}, Epoch: epoch}
}

func TestTheLeaderSetsSettingsOfItsServiceInARelation(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("riak", statetest.Riak, 1)
	r := w.relate("mysql", "wordpress")
	id := r.ID()
	first, second, reader := w.unit("mysql/0"), w.unit("mysql/1"), w.unit("wordpress/0")
	for _, u := range []string{"mysql/0", "mysql/1", "wordpress/0"} {
		w.ok(w.unit(u).EnterScope(w.ctx, id))
	}
	sees := func(unit string, want map[string]string) {
		w.Helper()
		got, err := w.unit(unit).RelationSettings(w.ctx, id, "mysql")
		w.ok(err)
		if !maps.Equal(got, want) {
			w.Errorf("%s sees %v, want %v", unit, got, want)
		}
	}
	sees("wordpress/0", map[string]string{})
	events, err := w.st.Watches().RelationUnits(w.ctx, "wordpress/0", id)
	w.ok(err)
	if e := next(t, events); e.Application != 0 || len(e.Changed) != 2 {
		t.Errorf("before anything is set: %+v", e)
	}

	w.refused(first.CommitHook(w.ctx, forAll(id, 1, map[string]string{"a": "1"})), entity.LeadershipRefused,
		"is not the leader")
	w.claims("mysql/0", 1)
	w.ok(first.CommitHook(w.ctx, forAll(id, 1, map[string]string{"a": "1", "b": "2", "c": ""})))
	if e := next(t, events); e.Application != 1 || len(e.Changed)+len(e.Departed) != 0 {
		t.Errorf("at first: %+v", e)
	}
	w.ok(first.CommitHook(w.ctx, forAll(id, 1, map[string]string{"a": "3", "b": ""})))
	if e := next(t, events); e.Application != 2 || len(e.Changed)+len(e.Departed) != 0 {
		t.Errorf("then: %+v", e)
	}
	w.ok(first.CommitHook(w.ctx, forAll(id, 1, map[string]string{"a": "3"}))) // no change
	sees("wordpress/0", map[string]string{"a": "3"})
	sees("mysql/0", map[string]string{"a": "3"})
	if _, err := second.RelationSettings(w.ctx, id, "mysql"); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a unit that does not lead reads its own service's: %v", err)
	}
	if _, err := reader.RelationSettings(w.ctx, id, "riak"); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("of a service that is not in the relation: %v", err)
	}
	// A new watch begins with the present version.
	again, err := w.st.Watches().RelationUnits(w.ctx, "wordpress/0", id)
	w.ok(err)
	if e := next(t, again); e.Application != 2 {
		t.Errorf("a new watch: %+v", e)
	}

	// A leader that was replaced while its hook ran commits nothing of it.
	c.pass(term)
	w.claims("mysql/1", 2)
	changes := forAll(id, 1, map[string]string{"a": "4"})
	changes.Relations = map[int]map[string]string{id: {"host": "h"}}
	w.refused(first.CommitHook(w.ctx, changes), entity.LeadershipRefused, "is not the leader")
	sees("wordpress/0", map[string]string{"a": "3"})
	if own, err := reader.RelationSettings(w.ctx, id, "mysql/0"); err != nil || own["host"] != "" {
		t.Errorf("of a refused hook: %v, %v", own, err)
	}
	// Or while it commits.
	w.st.Before(func() {
		w.ok(second.ReleaseLeadership(w.ctx))
		w.claims("mysql/0", 3)
	})
	w.refused(second.CommitHook(w.ctx, forAll(id, 2, map[string]string{"a": "5"})), entity.LeadershipRefused,
		"is not the leader")
	sees("wordpress/0", map[string]string{"a": "3"})
	w.checkClean()

	// They go with the relation.
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	for _, u := range []string{"mysql/0", "mysql/1", "wordpress/0"} {
		w.ok(w.unit(u).LeaveScope(w.ctx, id))
	}
	w.ok(first.CommitHook(w.ctx, forAll(id, 3, map[string]string{"a": "6"}))) // dropped
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	if n, err := w.st.DB().Count(t.Context(), "settings", nil); err != nil || n != 3 {
		t.Errorf("%d documents of settings are left, %v; there are three services", n, err)
	}
	w.checkClean()
}

// All units of a service see what their leader sets in a peer relation.
func TestPeersSeeWhatTheirLeaderSets(t *testing.T) {
	w := newWorld(t)
	w.deploy("riak", statetest.Riak, 2)
	w.ok(w.unit("riak/0").EnterScope(w.ctx, 0))
	w.ok(w.unit("riak/1").EnterScope(w.ctx, 0))
	w.claims("riak/0", 1)
	w.ok(w.unit("riak/0").CommitHook(w.ctx, forAll(0, 1, map[string]string{"a": "1"})))
	events, err := w.st.Watches().RelationUnits(w.ctx, "riak/1", 0)
	w.ok(err)
	if e := next(t, events); e.Application != 1 || len(e.Changed) != 1 {
		t.Errorf("the first event is %+v", e)
	}
	got, err := w.unit("riak/1").RelationSettings(w.ctx, 0, "riak")
	w.ok(err)
	if got["a"] != "1" {
		t.Errorf("riak/1 sees %v", got)
	}
}
