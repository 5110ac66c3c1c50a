package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A backlog counts what waits or has failed, and nothing else.
func TestBacklog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expect := func(when string, want entity.Backlog) {
		t.Helper()
		if got, err := state.Backlog(t.Context(), w.st); err != nil || got != want {
			t.Errorf("%s, the backlog is %+v %v, want %+v", when, got, err, want)
		}
	}
	expect("in an empty model", entity.Backlog{})
	w.deploy("mysql", statetest.MySQL, 3)
	expect("of a new service", entity.Backlog{Pending: 3})
	w.ok(w.machine("0").SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.MachineTag("0"), state.NewAgentPassword()))
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.UnitTag("mysql/0"), state.NewAgentPassword()))
	w.ok(w.machine("1").SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "no room"}))
	w.ok(w.unit("mysql/0").SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "start"`}))
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, entity.Status{Status: entity.StatusBlocked}))
	w.enqueues(command("mysql/0"))
	want := entity.Backlog{Pending: 2, FailedMachines: 1, FailedUnits: 1, Tasks: 1, Agents: 2}
	expect("with failures and a task", want)
	svc := w.deploy("wordpress", statetest.Wordpress, 40) // more than end in one transaction
	w.ok(svc.Destroy(w.ctx, entity.Destruction{}))
	if got, err := state.Backlog(t.Context(), w.st); err != nil || got.Cleanups == 0 {
		t.Errorf("while a service ends, the backlog is %+v %v", got, err)
	}
}
