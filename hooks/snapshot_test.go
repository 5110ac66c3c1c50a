package hooks

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/limits"
)

// All that a hook sets, in its relations and of the charm's state, fits in the request that commits it; if not, the tool fails.
func TestAllSettingsOfAHookAreLimited(t *testing.T) {
	t.Parallel()
	with := func(value string, each int) (set int, hook toolContext, err error) {
		c, err := NewContext(newBackend(), testParams(Info{Kind: Install}))
		if err != nil {
			t.Fatal(err)
		}
		for relation := 0; err == nil && relation < 20; relation++ {
			settings := map[string]string{}
			for n := range each {
				settings[strconv.Itoa(n)] = value
			}
			if err = c.writeSettings(relation, "wordpress/0", settings); err == nil {
				set += each
			}
		}
		return set, toolContext{Context: c}, err
	}
	for _, test := range []struct {
		value string
		each  int
		says  string
	}{
		{"", 10_000, ": settings of relations and of the charm's state that a hook changes: 90000 settings, the limit is 80000"},
		{strings.Repeat("x", limits.RelationSettings.Max-100), 1, ": settings of relations and of the charm's state that a hook changes, in JSON: "},
		{strings.Repeat("\x01", limits.RelationSettings.Max/2), 1, ": settings of relations and of the charm's state that a hook changes, in JSON: "},
	} {
		set, hook, err := with(test.value, test.each)
		if entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), "cannot set ") || !strings.Contains(err.Error(), test.says) {
			t.Errorf("after %d settings: %v", set, err)
		}
		text, err := json.Marshal(hook.Changes())
		if err != nil || len(text) > 16<<20 {
			t.Errorf("the changes have %d bytes, %v", len(text), err)
		}
		state := map[string]string{}
		for n := range test.each {
			state[strconv.Itoa(n)] = test.value
		}
		if err := hook.SetCharmState(t.Context(), state); entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), test.says[2:]) {
			t.Errorf("the charm's state beside %d settings: %v", set, err)
		}
		// What a hook gives up makes room.
		if err := hook.writeSettings(0, "wordpress/0", map[string]string{"0": ""}); err != nil {
			t.Error(err)
		}
	}
}

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
