package controller

import (
	"slices"
	"strings"
	"testing"

	"juju/state/controller"
	"juju/state/entity"
)

// A controller is up while its beats go on, as counted in beats of the one that looks, and what fails there is known here.
func TestControllersAreUpWhileTheyBeat(t *testing.T) {
	t.Parallel()
	m := &membership{running: &running{}} // machine 0
	provisioner := entity.WorkerFailure{Worker: "provisioner", Error: "no such region"}
	own := int64(0)
	sees := func(when, want string, others ...controller.Beat) {
		t.Helper()
		own++
		all := append([]controller.Beat{{ID: "0", Count: own, Failures: []controller.NodeFailure{{Model: "m", WorkerFailure: provisioner}}}},
			others...)
		up := m.see(all)
		slices.Sort(up)
		if got := strings.Join(up, " "); got != want {
			t.Errorf("%s: %q are up, want %q", when, got, want)
		}
	}
	beat := func(id string, n int64) controller.Beat {
		return controller.Beat{ID: id, Count: n, Failures: []controller.NodeFailure{{Model: "m", WorkerFailure: provisioner},
			{WorkerFailure: provisioner}}}
	}
	fails := func(when, model string, want int) {
		t.Helper()
		if got := m.failures(model); len(got) != want {
			t.Errorf("%s: failures of %q are %v, want %d", when, model, got, want)
		}
	}
	sees("the first look", "1 2", beat("1", 70), beat("2", 3))
	fails("both", "m", 2)
	fails("both", "", 2)
	fails("both", "other", 0)
	for range missedBeats - 1 {
		sees("silent", "1 2", beat("1", 70), beat("2", 3))
	}
	sees("silent for too long", "2", beat("1", 70), beat("2", 4))
	fails("one", "m", 1)
	sees("back, from the beginning", "1 2", beat("1", 1), beat("2", 4))
	sees("removed", "1", beat("1", 1))
	fails("the other", "m", 1)
}
