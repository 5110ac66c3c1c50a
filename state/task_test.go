package state_test

import (
	"slices"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// busy is a charm with actions.
const (
	busy        = `{name: busy, summary: s, description: d}`
	busyActions = `
backup:
  params: {level: {type: integer, maximum: 9, default: 5}, out: {type: string}}
  execution-group: disk
look: {parallel: true}
`
)

// command is a task that runs a user's command.
func command(unit string) state.NewTask {
	return state.NewTask{Receiver: unit, Name: entity.CommandTask, Params: map[string]any{entity.CommandParam: "true"}}
}

// enqueues adds one task, which must not be refused, and returns its id.
func (w *world) enqueues(task state.NewTask) string {
	w.Helper()
	_, ids, errs, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{task})
	w.ok(err)
	w.ok(errs[0])
	return ids[0]
}

// task checks a task's status, and returns the task.
func (w *world) task(id string, want entity.TaskStatus) entity.Task {
	w.Helper()
	task, err := w.st.Tasks().Task(w.ctx, id)
	w.ok(err)
	if task.Status != want {
		w.Errorf("task %s is %s, want %s", id, task.Status, want)
	}
	return task
}

func (w *world) busyService(units int) *state.Service {
	w.Helper()
	url := statetest.Charm(w.T, w.st, busy, "actions.yaml", busyActions)
	svc, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "busy", CharmURL: url, Units: units})
	w.ok(err)
	return svc
}

// The tasks of a unit that is removed are cancelled, whatever way it went.
func TestARemovedUnitsTasksAreCancelled(t *testing.T) {
	w := newWorld(t)
	w.busyService(3)
	u := w.started("busy/0")
	running, pending, unstarted := w.enqueues(command("busy/0")), w.enqueues(command("busy/0")),
		w.enqueues(command("busy/1"))
	_, err := u.BeginTask(w.ctx, running)
	w.ok(err)
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	w.ok(u.EnsureDead(w.ctx))
	w.ok(u.Remove(w.ctx))
	w.ok(w.unit("busy/1").Destroy(w.ctx, entity.Destruction{}))
	// The task comes in while the unit goes.
	var late string
	w.st.Before(func() { late = w.enqueues(command("busy/2")) })
	w.ok(w.unit("busy/2").Destroy(w.ctx, entity.Destruction{}))
	_, _, err = w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
	for _, id := range []string{running, pending, unstarted, late} {
		if task := w.task(id, entity.TaskCancelled); task.Message != "unit removed" {
			t.Errorf("task %s: %q", id, task.Message)
		}
	}
}

// A unit's watch fires for its own tasks, an operation's for all of it.
func TestWatchTasks(t *testing.T) {
	w := newWorld(t)
	w.busyService(2)
	u, other := w.started("busy/0"), w.started("busy/1")
	own, err := w.st.Watches().Unit(w.ctx, "busy/0")
	w.ok(err)
	next(t, own)
	operation, ids, _, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{command("busy/0"), command("busy/1")})
	w.ok(err)
	next(t, own)
	of, err := w.st.Watches().Operation(w.ctx, operation)
	w.ok(err)
	next(t, of)
	_, err = other.BeginTask(w.ctx, ids[1])
	w.ok(err)
	next(t, of)
	_, err = u.BeginTask(w.ctx, ids[0])
	w.ok(err)
	next(t, of)
	next(t, own)
}

// A machine runs commands and no actions. Its agent sees only its own, and they end with it.
func TestTasksOfMachines(t *testing.T) {
	w := newWorld(t)
	w.busyService(1)
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	id := m.ID()
	watch, err := w.st.Watches().MachineTasks(w.ctx, id)
	w.ok(err)
	next(t, watch)
	waits, no, group := command(id), false, "g"
	waits.Parallel, waits.Group = &no, &group
	operation, ids, errs, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{command(id), command("busy/0"), waits,
		{Receiver: id, Name: "backup"}, command("99")})
	w.ok(err)
	w.refused(errs[3], entity.Invalid, `cannot add action "backup" to a machine; only predefined actions allowed`)
	w.refused(errs[4], entity.NotFound, "machine 99 not found")
	next(t, watch)
	all, err := w.st.Tasks().Operation(w.ctx, operation)
	w.ok(err)
	if want := "command run on machine-" + id + ",unit-busy-0,machine-" + id; all.Summary != want {
		t.Errorf("the summary is %q, want %q", all.Summary, want)
	}
	own, err := m.Tasks(w.ctx)
	w.ok(err)
	if want := []entity.MachineTask{
		{TaskRef: entity.TaskRef{ID: ids[0], Status: entity.TaskPending}, Parallel: true},
		{TaskRef: entity.TaskRef{ID: ids[2], Status: entity.TaskPending}, Group: "g"},
	}; !slices.Equal(own, want) {
		t.Errorf("the machine has %v, want %v", own, want)
	}
	_, err = m.BeginTask(w.ctx, ids[1])
	w.refused(err, entity.Unauthorized, "permission denied")
	w.refused(m.FinishTask(w.ctx, ids[1], entity.TaskOutcome{Status: entity.TaskCompleted}), entity.Unauthorized,
		"permission denied")
	_, err = w.unit("busy/0").BeginTask(w.ctx, ids[0])
	w.refused(err, entity.Unauthorized, "permission denied")
	task, err := m.BeginTask(w.ctx, ids[0])
	w.ok(err)
	if task.Receiver != id || task.Status != entity.TaskRunning {
		t.Errorf("it begins %+v", task)
	}
	w.ok(m.FinishTask(w.ctx, ids[0], entity.TaskOutcome{Status: entity.TaskCompleted, Results: "{}"}))
	w.task(ids[0], entity.TaskCompleted)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "n"}))
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	m, err = w.st.Machine(w.ctx, id)
	w.ok(err)
	w.ok(m.EnsureDead(w.ctx))
	_, _, errs, err = w.st.Tasks().Enqueue(w.ctx, []state.NewTask{command(id)})
	w.ok(err)
	w.refused(errs[0], entity.NotAlive, "machine "+id+" is dead")
	w.ok(m.Remove(w.ctx))
	w.cleans()
	if task := w.task(ids[2], entity.TaskCancelled); task.Message != "machine removed" {
		t.Errorf("the message is %q", task.Message)
	}
}
