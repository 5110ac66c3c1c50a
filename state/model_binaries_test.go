package state_test

import (
	"strings"
	"testing"

	"juju/state/entity"
)

func TestAModelsBinariesAreNeverDowngraded(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if p, err := w.st.Settings().Binaries(ctx); p != (entity.Binaries{}) || err != nil {
		t.Errorf("a new model wants %v, %v", p, err)
	}
	for _, step := range []struct{ version, hash, refused string }{
		{"0.2.0", "a", ""},
		{"0.2.0", "b", ""}, // another build
		{"0.1.9", "c", `cannot upgrade model "default" to 0.1.9: its version is 0.2.0, and a downgrade is not supported`},
		{"0.10.0", "d", ""},
	} {
		p := entity.Binaries{Version: step.version, SHA256: step.hash}
		err := w.st.Settings().SetBinaries(ctx, p)
		if step.refused != "" {
			if err == nil || !strings.HasSuffix(err.Error(), step.refused[strings.Index(step.refused, " to "):]) {
				t.Errorf("%v: %v", p, err)
			}
			continue
		}
		if got, readErr := w.st.Settings().Binaries(ctx); err != nil || got != p || readErr != nil {
			t.Errorf("%v: %v; the model wants %v, %v", p, err, got, readErr)
		}
	}
}
