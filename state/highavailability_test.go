package state_test

import (
	"fmt"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

// manager adds a machine that runs a controller.
func (w *world) manager() *state.Machine {
	w.Helper()
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "noble", Jobs: []string{modeldb.JobManageModel}})
	w.ok(err)
	return m
}

// enablesHA checks what EnableHA does, as "maintained added demoted".
func (w *world) enablesHA(p state.EnableHAParams, want string) {
	w.Helper()
	changes, err := w.st.EnableHA(w.ctx, p)
	w.ok(err)
	if got := fmt.Sprint(changes.Maintained, changes.Added, changes.Demoted); got != want {
		w.Errorf("EnableHA with %+v did %s, want %s", p, got, want)
	}
}

// managers checks which machines run controllers.
func (w *world) managers(want ...string) {
	w.Helper()
	all, err := w.st.Machines(w.ctx)
	w.ok(err)
	got := []string{}
	for _, m := range all {
		if m.IsManager() {
			got = append(got, m.ID())
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("controllers run on machines %v, want %v", got, want)
	}
}

func TestEnableHA(t *testing.T) {
	w := newWorld(t)
	for n, words := range map[int]string{-1: "must be odd and non-negative", 2: "must be odd and non-negative",
		9: "controller count is too large (allowed 7)"} {
		_, err := w.st.EnableHA(w.ctx, state.EnableHAParams{Controllers: n})
		w.refused(err, entity.Invalid, words)
	}
	_, err := w.st.EnableHA(w.ctx, state.EnableHAParams{})
	w.refused(err, entity.Unavailable, "no controller is up")
	w.manager()
	_, err = w.st.EnableHA(w.ctx, state.EnableHAParams{Constraints: statetest.Constraints("spaces=^db")})
	w.refused(err, entity.NotFound, `space "db" not found`)
	w.enablesHA(state.EnableHAParams{Constraints: statetest.Constraints("mem=2G")}, "[0] [1 2] []")
	w.managers("0", "1", "2")
	for _, id := range []string{"1", "2"} {
		info, err := w.machine(id).Info(w.ctx)
		w.ok(err)
		if info.Series != "noble" || info.Constraints != "mem=2048M" {
			t.Errorf("machine %s is %+v", id, info)
		}
	}
	w.st.Before(func() { t.Error("there are enough controllers") })
	w.enablesHA(state.EnableHAParams{}, "[0 1 2] [] []")
	w.enablesHA(state.EnableHAParams{Controllers: 3}, "[0 1 2] [] []")
	w.st.Before(nil)
	_, err = w.st.EnableHA(w.ctx, state.EnableHAParams{Controllers: 1})
	w.refused(err, entity.Invalid, "cannot remove controllers with enable-ha")

	// A lost controller is replaced. Its machine stays until it is removed like any other.
	w.enablesHA(state.EnableHAParams{Lost: []string{"1"}}, "[0 2] [3] [1]")
	w.managers("0", "2", "3")
	w.enablesHA(state.EnableHAParams{Controllers: 5}, "[0 2 3] [4 5] []")
	w.ok(w.machine("1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.machine("5").Destroy(w.ctx, entity.Destruction{}))
	w.managers("0", "2", "3", "4")
	w.enablesHA(state.EnableHAParams{Controllers: 5}, "[0 2 3 4] [6] []")
	w.enablesHA(state.EnableHAParams{Lost: []string{"0", "1", "6"}}, "[2 3 4] [7 8] [0 6]") // as many as there were
	w.checkCounts()
	w.checkClean()
}

// Other clients change the controllers while EnableHA counts them.
func TestEnableHARaces(t *testing.T) {
	w := newWorld(t)
	w.manager()
	// Two clients enable HA at once: together they add what one would add.
	w.st.Before(func() { w.enablesHA(state.EnableHAParams{}, "[0] [3 4] []") })
	w.enablesHA(state.EnableHAParams{}, "[0 3 4] [] []")
	// A machine is destroyed with its controller.
	w.st.Before(func() { w.ok(w.machine("4").Destroy(w.ctx, entity.Destruction{})) })
	w.enablesHA(state.EnableHAParams{Controllers: 5}, "[0 3] [5 6 7] []")
	// Another client replaces the lost controller, or destroys its machine.
	lost := state.EnableHAParams{Lost: []string{"0"}}
	w.st.Before(func() { w.enablesHA(lost, "[3 5 6 7] [9] [0]") })
	w.enablesHA(lost, "[3 5 6 7 9] [] []")
	lost.Lost[0] = "3"
	w.st.Before(func() { w.ok(w.machine("3").Destroy(w.ctx, entity.Destruction{})) })
	w.enablesHA(lost, "[5 6 7 9] [] []")
	w.st.Before(func() { w.ok(w.st.Destroy(w.ctx, entity.Destruction{})) })
	_, err := w.st.EnableHA(w.ctx, state.EnableHAParams{Controllers: 7})
	w.refused(err, entity.NotAlive, "is no longer alive")
	w.checkCounts()
}
