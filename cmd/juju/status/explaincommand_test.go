package status_test

import (
	"testing"
	"time"

	"juju/state/entity"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Freeze()
	now := u.Session.Now()
	u.Model.Returns.Explanations = []entity.Explanation{{Name: "service web", Life: entity.Dying, Since: now.Add(-time.Hour),
		Reasons: []entity.Reason{
			{Text: `service "web" has unit "web/0"`, Since: now.Add(-time.Minute)},
			{Depth: 1, Text: `unit "web/0": hook failed: "stop"`, Hint: "juju resolved web/0"},
			{Depth: 1, By: "unit-web-0", Text: "the agent of unit web/0 must set it dead", Since: now.Add(-2 * time.Minute)},
		},
		Refusals: []entity.Refusal{{At: now.Add(-5 * time.Second), Text: "units web/0: life is dying, not alive"}},
	}}
	u.Types("explain", "web")
	u.Sees(0, `service web is dying, for 1h0m0s
  service "web" has unit "web/0", for 1m0s
    unit "web/0": hook failed: "stop"
      → juju resolved web/0
    the agent of unit web/0 must set it dead (awaited for 2m0s)
  a change failed 5s ago: units web/0: life is dying, not alive
`, "")

	// How old something is that is alive explains nothing.
	u.Model.Returns.Explanations = []entity.Explanation{{Name: "unit web/0", Since: now.Add(-time.Hour),
		Reasons: []entity.Reason{{By: "unit-web-0", Text: "running start hook", Since: now.Add(-time.Minute)}}}}
	u.Types("explain", "web/0")
	u.Sees(0, "unit web/0 is alive\n  running start hook (awaited for 1m0s)\n", "")
}
