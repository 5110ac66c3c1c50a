package operation

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// Hooks know the relations that the unit is in, or is leaving: not one that was destroyed before the unit could enter
// it, in which they could set nothing.
func TestHooksKnowNoRelationThatWasNotEntered(t *testing.T) {
	t.Parallel()
	s := localstate.State{}.Entering(0).Entering(1)
	s.Relations[2] = localstate.Relation{}
	var remote resolver.Remote
	for id, in := range []bool{true, false, false, true, false} {
		remote.Relations = append(remote.Relations, resolver.Relation{RelationInfo: entity.RelationInfo{ID: id, InScope: in,
			Via: []string{"192.0.2.0/24"}}})
	}
	params := Factory{Unit: entity.UnitTag("site/0")}.contextParams(s, remote, hooks.Info{Kind: hooks.ConfigChanged})
	if ids := slices.Sorted(maps.Keys(params.Relations)); !slices.Equal(ids, []int{0, 2, 3}) {
		t.Errorf("the hook knows the relations %v", ids)
	}
	if via := params.Relations[3].Via; !slices.Equal(via, []string{"192.0.2.0/24"}) {
		t.Errorf("it connects from %v", via)
	}
}

// A hook sees the units that the charm knows of in a relation, and the one that the hook itself is about.
func TestMembersThatAHookSees(t *testing.T) {
	t.Parallel()
	told := localstate.Relation{Members: map[string]int64{"mysql/0": 1, "mysql/1": 1}}
	for _, c := range []struct {
		kind hooks.Kind
		unit string
		want string // in the hook's relation; in another, it sees those that the charm knows of
	}{
		{hooks.ConfigChanged, "", "mysql/0 mysql/1"},
		{hooks.RelationJoined, "mysql/2", "mysql/0 mysql/1 mysql/2"},
		{hooks.RelationChanged, "mysql/1", "mysql/0 mysql/1"},
		{hooks.RelationChanged, "", "mysql/0 mysql/1"}, // about the other service
		{hooks.RelationDeparted, "mysql/1", "mysql/0"},
	} {
		hook := hooks.Info{Kind: c.kind, RelationID: 1, RemoteUnit: c.unit}
		for relation, want := range map[int]string{1: c.want, 2: "mysql/0 mysql/1"} {
			if got := strings.Join(slices.Sorted(slices.Values(members(hook, relation, told))), " "); got != want {
				t.Errorf("%s sees in relation %d: %s, want %s", hook, relation, got, want)
			}
		}
	}
}

// Only a hook that this agent has run is in the charm directory's history.
func TestHistoryOfHooks(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*runHook{
		"hook start": {name: "start"},
		"":           {name: "start", skip: true},
	} {
		if got := o.History(); got != want {
			t.Errorf("skipped is %v: %q, want %q", o.skip, got, want)
		}
	}
}

// An operation is named in logs as the resolver names it, and a task as users know it.
func TestNamesOfOperations(t *testing.T) {
	t.Parallel()
	enter, die := resolver.Op{Verb: resolver.Enter, Relation: 3}, resolver.Op{Verb: resolver.Die}
	for want, op := range map[string]resolver.Op{
		enter.String(): enter,
		die.String():   die,
		"run task 5":   {Verb: resolver.RunTask, Task: "5"},
		"run command":  {Verb: resolver.RunCommand},
	} {
		o, err := Factory{}.New(op, localstate.State{}, resolver.Remote{})
		if err != nil || o.String() != want {
			t.Errorf("%s is named %v (%v), want %s", op, o, err, want)
		}
	}
}
