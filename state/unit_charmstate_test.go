package state_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// keeps checks what the charm of a unit keeps.
func (w *world) keeps(u *state.Unit, want entity.CharmState) {
	w.Helper()
	got, err := u.CharmState(w.ctx)
	w.ok(err)
	if !maps.Equal(got, want) {
		w.Errorf("the charm of %s keeps %v, want %v", u.Name(), got, want)
	}
}

func TestACharmKeepsItsState(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	first, second := w.unit("mysql/0"), w.unit("mysql/1")
	w.keeps(first, entity.CharmState{})
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{DropState: []string{"none"}}))
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{CharmState: entity.CharmState{"a.$": "1", "empty": ""}}))
	w.keeps(first, entity.CharmState{"a.$": "1", "empty": ""})
	w.keeps(second, entity.CharmState{})
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{
		CharmState: entity.CharmState{"b": "2"}, DropState: []string{"empty", "none"}}))
	w.keeps(first, entity.CharmState{"a.$": "1", "b": "2"})
	// A commit that is refused changes nothing.
	err := first.CommitHook(w.ctx, entity.HookChanges{
		CharmState: entity.CharmState{"b": "3"}, OpenPorts: []entity.PortRange{{From: 0, To: 1, Protocol: "tcp"}}})
	w.refused(err, entity.Invalid, "port range bounds")
	w.keeps(first, entity.CharmState{"a.$": "1", "b": "2"})
}

func TestCharmStateHasALimit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u, half := w.unit("mysql/0"), strings.Repeat("x", 1<<20)
	keep := func(key string) error {
		return u.CommitHook(w.ctx, entity.HookChanges{CharmState: entity.CharmState{key: half}})
	}
	w.ok(keep("a"))
	w.refused(keep("b"), entity.Invalid, "charm state of a unit: 2097186 bytes, the limit is 2097152")
	w.ok(u.CommitHook(w.ctx, entity.HookChanges{DropState: []string{"a"}}))
	w.ok(keep("b"))
}

func TestCharmStateGoesWithTheUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	for i, how := range []entity.Destruction{{}, {Strength: entity.Force}} {
		u := w.unit(fmt.Sprintf("mysql/%d", i))
		kept := entity.HookChanges{CharmState: entity.CharmState{"a": "1"}}
		w.ok(u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
		w.ok(u.CommitHook(w.ctx, kept))
		w.ok(u.Destroy(w.ctx, how))
		if how.Strength == entity.Force {
			w.clean()
		} else {
			w.ok(u.EnsureDead(w.ctx))
			w.refused(u.CommitHook(w.ctx, kept), entity.NotAlive, "is dead")
			w.ok(u.Remove(w.ctx))
		}
		w.keeps(u, entity.CharmState{})
	}
}
