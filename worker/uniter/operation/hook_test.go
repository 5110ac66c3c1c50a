package operation

import (
	"maps"
	"slices"
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
		remote.Relations = append(remote.Relations, resolver.Relation{RelationInfo: entity.RelationInfo{ID: id, InScope: in}})
	}
	params := Factory{Unit: entity.UnitTag("site/0")}.contextParams(s, remote, hooks.Info{Kind: hooks.ConfigChanged})
	if ids := slices.Sorted(maps.Keys(params.Relations)); !slices.Equal(ids, []int{0, 2, 3}) {
		t.Errorf("the hook knows the relations %v", ids)
	}
}
