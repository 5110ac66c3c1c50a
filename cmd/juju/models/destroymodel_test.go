package models_test

import (
	"strings"
	"testing"

	"juju/state/entity"
)

// While a model is destroyed, what only a user can clear away is said, once each, and once for all units
// what can be done about failed hooks.
func TestDestroyModelSaysWhatWaitsForAUser(t *testing.T) {
	t.Parallel()
	cause := entity.Reason{Of: "unit-web-0", By: entity.ByUser, Text: `unit "web/0": hook failed: "stop"`, Hint: "do this"}
	u := newUser(t)
	also := entity.Reason{Of: "unit-web-1", By: entity.ByUser, Text: `unit "web/1": hook failed: "stop"`, Hint: "do that"}
	machine := entity.Reason{Of: "machine-0", By: entity.ByUser, Text: "instance i is gone", Hint: "give it up"}
	u.Model.Returns.Explain = func() entity.Explanation {
		return entity.Explanation{Reasons: []entity.Reason{cause, also, machine, cause}}
	}
	for _, line := range []string{"destroy-model default -y", "destroy-model default -y --wait=5s"} {
		u.Controller.Add("admin", "default")
		u.Controller.Stays = 3
		u.Types(strings.Fields(line)...)
		want := "Waiting for a user: instance i is gone\n  → give it up\n" +
			"Waiting for a user: unit \"web/0\": hook failed: \"stop\"\nWaiting for a user: unit \"web/1\": hook failed: \"stop\"\n" +
			"  → run the hook of a unit again: juju resolved -m prod:admin/default UNIT; skip it: juju resolved -m prod:admin/default " +
			"--no-retry UNIT; in the whole model, skip every hook that fails: juju destroy-model --lenient prod:admin/default; run no hook " +
			"at all, and leave behind what stop would remove: juju destroy-model --force prod:admin/default\n"
		if said := u.Err.String(); strings.Count(said, want) != 1 {
			t.Errorf("%s: said %s", line, said)
		}
	}
}
