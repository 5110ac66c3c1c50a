package status

import (
	"testing"
	"time"

	"juju/state/entity"
)

func TestExplainNothing(t *testing.T) {
	if got, want := explanations(nil, time.Now()), "Nothing is waiting.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A cause that holds up several entities is said once.
func TestExplainSaysACauseOnce(t *testing.T) {
	cause := entity.Reason{Depth: 1, Of: "unit-web-0", By: entity.ByUser, Text: `unit "web/0": hook failed: "stop"`, Hint: "do this"}
	own := cause
	own.Depth = 0
	got := explanations([]entity.Explanation{
		{Name: "service web", Life: entity.Dying, Reasons: []entity.Reason{{Text: `service "web" has unit "web/0"`}, cause}},
		{Name: "unit web/0", Life: entity.Dying, Reasons: []entity.Reason{own}},
		{Name: "machine 0", Life: entity.Dying, Reasons: []entity.Reason{{Text: `machine 0 has unit "web/0"`}, cause}},
		{Name: "machine 1", Life: entity.Dying, Reasons: []entity.Reason{{By: "machine-1", Text: "its agent must set it dead"}}},
	}, time.Now())
	if want := `service web is dying
  service "web" has unit "web/0"
    unit "web/0": hook failed: "stop"
      → do this
machine 1 is dying
  its agent must set it dead
Also waiting for the same: unit web/0, machine 0
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
