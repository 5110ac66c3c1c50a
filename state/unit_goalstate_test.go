package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
	"juju/state/statetest"
)

// The goal state of a unit has all units of its service and of those it is related to; over a
// container relation only those beside it. What is going is dying, what is Dead is left out.
func TestGoalStateIsThatOfTheUnitsRelations(t *testing.T) {
	w := newWorld(t)
	w.deploy("riak", statetest.Riak, 3) // has a peer relation
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("logging", statetest.Logging, 0)
	w.deploy("other", statetest.MySQL, 1)
	broken := w.relate("wordpress", "mysql")
	container := w.relate("mysql", "logging")
	for _, name := range []string{"mysql/0", "mysql/1"} {
		w.ok(w.started(name).EnterScope(w.ctx, container.ID()))
	}
	w.ok(w.started("wordpress/0").EnterScope(w.ctx, broken.ID()))
	w.ok(broken.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/0").SetStatus(w.ctx, entity.Status{Status: entity.StatusActive}))
	w.ok(w.started("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.started("riak/1").Destroy(w.ctx, entity.Destruction{}))
	dead := w.started("riak/2")
	w.ok(dead.Destroy(w.ctx, entity.Destruction{}))
	w.ok(dead.EnsureDead(w.ctx))

	type all = map[string]string
	for name, want := range map[string]struct {
		units     all
		relations map[string]all
	}{
		"riak/0": {
			all{"riak/0": "waiting", "riak/1": "dying"},
			map[string]all{}, // peers are among the units
		},
		"wordpress/0": {
			all{"wordpress/0": "waiting"},
			map[string]all{"db": {"mysql": "dying", "mysql/0": "active", "mysql/1": "dying"}},
		},
		"mysql/0": {
			all{"mysql/0": "active", "mysql/1": "dying"},
			map[string]all{"server": {"wordpress": "dying", "wordpress/0": "waiting"},
				"juju-info": {"logging": "joined", "logging/0": "waiting"}},
		},
		"logging/1": {
			all{"logging/0": "waiting", "logging/1": "waiting"},
			map[string]all{"info": {"mysql": "joined", "mysql/1": "dying"}},
		},
		"other/0": {all{"other/0": "waiting"}, map[string]all{}},
	} {
		goal, err := w.unit(name).GoalState(w.ctx)
		w.ok(err)
		words := func(of map[string]entity.GoalStatus) all {
			said := all{}
			for name, s := range of {
				said[name] = s.Status
				if time.Since(s.Since) > time.Hour {
					t.Errorf("%s: since %v", name, s.Since)
				}
			}
			return said
		}
		relations := map[string]all{}
		for endpoint, of := range goal.Relations {
			relations[endpoint] = words(of)
		}
		if diff := cmp.Diff(want.units, words(goal.Units)); diff != "" {
			t.Errorf("%s has the units (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.relations, relations); diff != "" {
			t.Errorf("%s has the relations (-want +got):\n%s", name, diff)
		}
	}
}
