package hooks

import (
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/limits"
)

// The size of what a hook sets in a relation is limited. What it sets again counts once, and deleting it makes room.
func TestSettingsOfAHookAreLimited(t *testing.T) {
	t.Parallel()
	hook, err := NewContext(newBackend(), testParams(Info{Kind: Install}))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", limits.RelationSettings.Max*2/3)
	set := func(relation int, key, value string) error {
		return hook.writeSettings(relation, "wordpress/0", map[string]string{key: value})
	}
	if err := errors.Join(set(0, "a", long), set(0, "a", long), set(7, "b", long)); err != nil {
		t.Fatal(err)
	}
	err = set(0, "b", long)
	if entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), "cannot set db:0: settings of a unit in a relation: ") {
		t.Errorf("another: %v", err)
	}
	if err := errors.Join(set(0, "a", ""), set(0, "b", long)); err != nil {
		t.Error(err)
	}
	if got := hook.Changes().Relations[0]; len(got) != 2 || got["a"] != "" || got["b"] != long {
		t.Errorf("%d settings are written", len(got))
	}
}
