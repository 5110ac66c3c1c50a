package state_test

import (
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

// noRelation checks that a relation is gone.
func (w *world) noRelation(id int) {
	w.Helper()
	_, err := w.st.RelationByID(w.ctx, id)
	w.gone("relation", "", err)
}

// relations checks how many relations count as references of a service.
func (w *world) relationsOf(service string, want int) {
	w.Helper()
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	n := 0
	for _, r := range status.Relations {
		for _, end := range r.Endpoints {
			if end.Service == service {
				n++
			}
		}
	}
	if n != want {
		w.Errorf("service %q has %d relations, want %d", service, n, want)
	}
	w.checkCounts()
}

func TestServiceWithRelationsButNoUnitsIsRemovedImmediately(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	s := w.deploy("mysql", statetest.MySQL, 0)
	r := w.relate("wordpress", "mysql")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.noRelation(r.ID())
	w.relationsOf("wordpress", 0)
}

func TestRelationIsDestroyedByItselfOrWithAService(t *testing.T) {
	for _, by := range []string{"itself", "its provider", "its requirer"} {
		t.Run(by, func(t *testing.T) {
			w := newWorld(t)
			w.deploy("wordpress", statetest.Wordpress, 1)
			w.deploy("mysql", statetest.MySQL, 1)
			r := w.relate("wordpress", "mysql")
			my, wp := w.started("mysql/0"), w.started("wordpress/0")
			w.ok(my.EnterScope(w.ctx, r.ID()))
			w.ok(wp.EnterScope(w.ctx, r.ID()))
			end := map[string]func() error{
				"itself":       func() error { return r.Destroy(w.ctx, entity.Destruction{}) },
				"its provider": func() error { return mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}) },
				"its requirer": func() error { return mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{}) },
			}[by]
			w.ok(end())
			now, err := w.st.RelationByID(w.ctx, r.ID())
			w.ok(err)
			if now.Life() != entity.Dying {
				t.Errorf("the relation is %s", now.Life())
			}
			w.ok(now.Destroy(w.ctx, entity.Destruction{})) // does nothing
			w.relationsOf("mysql", 1)
			w.ok(my.LeaveScope(w.ctx, r.ID()))
			w.relationsOf("wordpress", 1)
			w.ok(wp.LeaveScope(w.ctx, r.ID()))
			w.noRelation(r.ID())
			w.relationsOf("mysql", 0)
			w.relationsOf("wordpress", 0)
		})
	}
}

func TestRelationWithoutUnitsInScopeIsRemovedImmediately(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 1)
	r := w.relate("wordpress", "mysql")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, r.ID()))
	w.ok(my.LeaveScope(w.ctx, r.ID()))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.noRelation(r.ID())
	w.relationsOf("mysql", 0)
	w.relationsOf("wordpress", 0)
	w.ok(r.Destroy(w.ctx, entity.Destruction{})) // it is gone: nothing to do
}

// twoWays is a subordinate that can be related to a mysql in its container in two ways.
const twoWays = `{name: twoways, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}, db: {interface: mysql, scope: container}}}`

func TestSubordinatesLiveWhileAContainerRelationIsAlive(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("twoways", twoWays, 0)
	first := w.relate("mysql:server", "twoways:db")
	second := w.relate("mysql:juju-info", "twoways:info")
	my := w.started("mysql/0")
	w.ok(my.EnterScope(w.ctx, first.ID()))
	w.ok(my.EnterScope(w.ctx, second.ID()))
	sub := w.started("twoways/0")
	w.ok(sub.EnterScope(w.ctx, first.ID()))
	w.ok(sub.EnterScope(w.ctx, second.ID()))

	destroy := func(id int, orphaned bool, want entity.Life) {
		t.Helper()
		r, err := w.st.RelationByID(w.ctx, id)
		w.ok(err)
		w.ok(r.Destroy(w.ctx, entity.Destruction{}))
		info, err := sub.Info(w.ctx)
		w.ok(err)
		if info.OrphanedBySubRel != orphaned {
			t.Errorf("the subordinate is an orphan: %v", info.OrphanedBySubRel)
		}
		_, _, err = w.st.Cleaner().Cleanup(w.ctx)
		w.ok(err)
		if life := w.unit("twoways/0").Life(); life != want {
			t.Errorf("the subordinate is %s, want %s", life, want)
		}
	}
	destroy(first.ID(), false, entity.Alive)
	destroy(second.ID(), true, entity.Dying)
}
