package facades_test

import (
	"encoding/json"
	"errors"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A charm's payloads reach users in Juju's form, and patterns choose among them.
func TestPayloadsOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	agent := w.uniter(entity.UnitTag("mysql/0"))
	changes := entity.HookChanges{Payloads: []entity.Payload{
		{Class: "web", Type: "docker", ID: "1f", Status: "running", Labels: []string{"Blue", "canary"}},
		{Class: "cache", Type: "kvm", ID: "c", Status: "stopped"}}}
	if err := agent.CommitHook(t.Context(), entity.UnitTag("mysql/0"), changes); err != nil {
		t.Fatal(err)
	}
	if all, err := agent.Payloads(t.Context(), entity.UnitTag("mysql/0")); err != nil || len(all) != 2 {
		t.Fatalf("the unit's own payloads: %v, %v", all, err)
	}
	changes.Payloads[0].Status = "well"
	if err := agent.CommitHook(t.Context(), entity.UnitTag("mysql/0"), changes); !errors.Is(err, entity.Invalid) {
		t.Errorf("a payload with an invalid status: %v", err)
	}
	if err := agent.CommitHook(t.Context(), entity.UnitTag("mysql/1"), changes); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a payload of another unit: %v", err)
	}
	c := w.admin()
	const web = `{"class":"web","type":"docker","id":"1f","status":"running","labels":["Blue","canary"],"unit":"unit-mysql-0","machine":"machine-0"}`
	const cache = `{"class":"cache","type":"kvm","id":"c","status":"stopped","labels":[],"unit":"unit-mysql-0","machine":"machine-0"}`
	for _, test := range []struct{ pattern, want string }{
		{"", cache + "," + web}, {"mysql/0", cache + "," + web}, {"0", cache + "," + web}, {"blue", web}, {"KVM", cache},
		{"stopped", cache}, {"1f", web}, {"web", web}, {"we", ""}, {"mysql", ""},
	} {
		var patterns []string
		if test.pattern != "" {
			patterns = []string{"none", test.pattern}
		}
		var result json.RawMessage
		if err := c.do("Payloads", 1, "List", params.PayloadList{Patterns: patterns}, &result); err != nil {
			t.Fatal(err)
		}
		if got := string(result); got != `{"results":[`+test.want+`]}` {
			t.Errorf("pattern %q: %s", test.pattern, got)
		}
	}
}
