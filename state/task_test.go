package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
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

// A default that contradicts its own schema is passed on. What the user gives is checked, with the
// defaults where it is not enough.
func TestADefaultMayContradictItsSchema(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, busy, "actions.yaml", "go:\n  params: {p: {type: integer, default: five}, "+
		"m: {type: integer, default: 1}}\n  required: [m]\n"+
		"check: {params: {p: {type: integer, default: 5}}, required: [p]}\n")
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "busy", CharmURL: url, Units: 1})
	w.ok(err)
	one := map[string]any{"m": 1}
	id := w.enqueues(state.NewTask{Receiver: "busy/0", Name: "go", Params: one})
	if got := string(w.task(id, entity.TaskPending).Params); got != `{"m":1,"p":"five"}` {
		t.Errorf("got %s", got)
	}
	w.enqueues(state.NewTask{Receiver: "busy/0", Name: "check"})
	_, _, errs, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{
		{Receiver: "busy/0", Name: "go", Params: map[string]any{"m": 1, "p": "six"}}})
	w.ok(err)
	w.refused(errs[0], entity.Invalid, "p: got string, want integer")
}

func TestEnqueue(t *testing.T) {
	w := newWorld(t)
	w.busyService(2)
	w.deploy("mysql", statetest.MySQL, 1)
	yes, other := true, "other"
	operation, ids, errs, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{
		{Receiver: "busy/0", Name: "backup", Params: map[string]any{"out": "x.y"}},
		{Receiver: "busy/9", Name: "backup"},
		{Receiver: "busy/1", Name: "nothing"},
		{Receiver: "mysql/0", Name: "backup"},
		{Receiver: "busy/1", Name: "backup", Params: map[string]any{"level": 10}},
		{Receiver: "busy/leader", Name: "look"},
		{Receiver: "busy/1", Name: "look", Group: &other},
		{Receiver: "busy/1", Name: "backup", Parallel: &yes},
		{Receiver: "busy/1", Name: entity.CommandTask},
	})
	w.ok(err)
	for i, want := range []string{
		"", `unit "busy/9" not found`, `action "nothing" not defined on unit "busy/1"`,
		`no actions defined on charm "local:jammy/mysql-0"`,
		`cannot run "backup" on unit "busy/1": level: maximum: got 10, want 9`,
		`could not determine leader for "busy"`, "", "",
		`cannot run "juju-run" on unit "busy/1": parameters: missing property 'command'`,
	} {
		if got := fmt.Sprint(errs[i]); got != want && (want != "" || errs[i] != nil) {
			t.Errorf("task %d: got %s, want %s", i, got, want)
		}
		if (ids[i] == "") != (errs[i] != nil) {
			t.Errorf("task %d has id %q and error %v", i, ids[i], errs[i])
		}
	}
	got, err := w.st.Tasks().Operation(w.ctx, operation)
	w.ok(err)
	var tasks []string
	for _, task := range got.Tasks {
		tasks = append(tasks, fmt.Sprintf("%s %s %s %s %v %q", task.ID, task.Receiver, task.Name, task.Params, task.Parallel,
			task.Group))
	}
	want := []string{`2 busy/0 backup {"level":5,"out":"x.y"} false "disk"`, `8 busy/1 look {} true "other"`,
		`9 busy/1 backup {"level":5} true "disk"`}
	if operation != "1" || !slices.Equal(tasks, want) ||
		got.Summary != "backup run on unit-busy-0,unit-busy-1,unit-busy-1" {
		t.Errorf("operation %s %q has\n%s", operation, got.Summary, strings.Join(tasks, "\n"))
	}
	w.claims("busy/1", 1)
	if task := w.task(w.enqueues(state.NewTask{Receiver: "busy/leader", Name: "look"}), entity.TaskPending); task.Receiver !=
		"busy/1" {
		t.Errorf("the leader's task is for %s", task.Receiver)
	}
	operation, _, _, err = w.st.Tasks().Enqueue(w.ctx, []state.NewTask{{Receiver: "no/0", Name: "look"}})
	if operation != "" || err != nil {
		t.Errorf("without tasks there is operation %q, %v", operation, err)
	}
}

// What the charm says of an action counts that the unit runs.
func TestEnqueueAsksTheUnitsCharm(t *testing.T) {
	w := newWorld(t)
	svc := w.busyService(1)
	u := w.started("busy/0")
	w.ok(u.SetCharm(w.ctx, "local:jammy/busy-0"))
	statetest.Charm(t, w.st, busy, "actions.yaml", "new: {}")
	_, err := svc.SetCharm(w.ctx, state.SetCharmParams{URL: "local:jammy/busy-1"})
	w.ok(err)
	new := []state.NewTask{{Receiver: "busy/0", Name: "new"}}
	_, _, errs, err := w.st.Tasks().Enqueue(w.ctx, new)
	w.ok(err)
	w.refused(errs[0], entity.NotFound, `action "new" not defined on unit "busy/0"`)
	w.st.Before(func() { w.ok(u.SetCharm(w.ctx, "local:jammy/busy-1")) })
	_, _, errs, err = w.st.Tasks().Enqueue(w.ctx, []state.NewTask{{Receiver: "busy/0", Name: "look"}})
	w.ok(err)
	w.refused(errs[0], entity.NotFound, `action "look" not defined on unit "busy/0"`)
	w.enqueues(new[0])
}

func TestTheLifeOfATask(t *testing.T) {
	w := newWorld(t)
	w.busyService(2)
	u, other := w.started("busy/0"), w.unit("busy/1")
	id := w.enqueues(state.NewTask{Receiver: "busy/0", Name: "backup"})
	_, err := other.BeginTask(w.ctx, id)
	w.refused(err, entity.Unauthorized, "permission denied")
	w.refused(other.FinishTask(w.ctx, id, entity.TaskOutcome{Status: entity.TaskFailed}), entity.Unauthorized,
		"permission denied")
	w.refused(u.LogTask(w.ctx, id, "early"), entity.Invalid, `cannot log message to task "2" with status pending`)
	task, err := u.BeginTask(w.ctx, id)
	w.ok(err)
	if task.Name != "backup" || string(task.Params) != `{"level":5}` || task.Status != entity.TaskRunning {
		t.Errorf("%+v", task)
	}
	if again, err := u.BeginTask(w.ctx, id); err != nil || again.Status != task.Status {
		t.Errorf("begun again: %+v, %v", again, err)
	}
	_, err = u.BeginTask(w.ctx, "77")
	w.refused(err, entity.TaskGone, "action no longer available")
	w.ok(u.LogTask(w.ctx, id, "half done"))
	info, err := u.Info(w.ctx)
	w.ok(err)
	if refs := info.Tasks; !slices.Equal(refs, []entity.TaskRef{{ID: id, Status: entity.TaskRunning}}) {
		t.Errorf("unfinished: %v", refs)
	}
	done := entity.TaskOutcome{Status: entity.TaskCompleted, Results: `{"a.b":{"$c":1}}`, Message: "fine"}
	w.ok(u.FinishTask(w.ctx, id, done))
	w.ok(u.FinishTask(w.ctx, id, entity.TaskOutcome{Status: entity.TaskFailed})) // too late
	w.ok(u.FinishTask(w.ctx, "77", entity.TaskOutcome{Status: entity.TaskFailed}))
	_, err = u.BeginTask(w.ctx, id)
	w.refused(err, entity.TaskGone, "action no longer available")
	task = w.task(id, entity.TaskCompleted)
	if string(task.Results) != done.Results || task.Message != "fine" || len(task.Log) != 1 ||
		task.Log[0].Message != "half done" || task.Started.IsZero() || task.Completed.IsZero() {
		t.Errorf("%+v", task)
	}
	if info, err = u.Info(w.ctx); err != nil || len(info.Tasks) > 0 {
		t.Errorf("unfinished: %v, %v", info.Tasks, err)
	}
	w.ok(w.st.Tasks().Cancel(w.ctx, id)) // it is over
	w.task(id, entity.TaskCompleted)
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	w.busyService(1)
	u := w.started("busy/0")
	pending, running := w.enqueues(command("busy/0")), w.enqueues(command("busy/0"))
	_, err := u.BeginTask(w.ctx, running)
	w.ok(err)
	for _, id := range []string{pending, running, running} {
		w.ok(w.st.Tasks().Cancel(w.ctx, id))
	}
	w.task(pending, entity.TaskCancelled)
	w.task(running, entity.TaskAborting)
	w.ok(u.FinishTask(w.ctx, running, entity.TaskOutcome{Status: entity.TaskFailed, Message: "aborted"}))
	w.task(running, entity.TaskAborted)
	w.refused(w.st.Tasks().Cancel(w.ctx, "9"), entity.NotFound, `task "9" not found`)
	late := w.enqueues(command("busy/0"))
	w.st.Before(func() { _, err := u.BeginTask(w.ctx, late); w.ok(err) })
	w.ok(w.st.Tasks().Cancel(w.ctx, late))
	w.task(late, entity.TaskAborting)
}

// A unit that is Dying, or becomes so meanwhile, gets no task, which would put off its last hooks. It still
// does those that it has.
func TestOnlyAliveUnitsGetTasks(t *testing.T) {
	for _, task := range []state.NewTask{command("busy/0"), {Receiver: "busy/0", Name: "backup"}} {
		w := newWorld(t)
		w.busyService(1)
		u := w.started("busy/0")
		w.claims("busy/0", 1)
		first := w.enqueues(task)
		refused := func(task state.NewTask, hint string) {
			t.Helper()
			_, _, errs, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{task})
			w.ok(err)
			w.refused(errs[0], entity.NotAlive, `unit "busy/0" is not alive`)
			if got := entity.Hint(errs[0]); got != hint {
				t.Errorf("got hint %q, want %q", got, hint)
			}
		}
		const hint = "Until it is removed, work on it with: juju ssh busy/0, where juju-run works too"
		w.st.Before(func() { w.ok(u.Destroy(w.ctx, entity.Destruction{})) })
		refused(task, hint)
		refused(state.NewTask{Receiver: "busy/leader", Name: task.Name, Params: task.Params}, hint)
		_, err := u.BeginTask(w.ctx, first)
		w.ok(err)
		w.ok(u.EnsureDead(w.ctx))
		refused(task, "")
	}
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

func TestOperations(t *testing.T) {
	w := newWorld(t)
	w.busyService(2)
	for range 5 {
		_, _, _, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{command("busy/0"), command("busy/1")})
		w.ok(err)
	}
	ids := func(match func(entity.Operation) bool, limit int) (ids []string, more bool) {
		all, more, err := w.st.Tasks().Operations(w.ctx, match, limit)
		w.ok(err)
		for _, o := range all {
			if len(o.Tasks) != 2 {
				t.Errorf("operation %s has %d tasks", o.ID, len(o.Tasks))
			}
			ids = append(ids, o.ID)
		}
		return ids, more
	}
	all := func(entity.Operation) bool { return true }
	if got, more := ids(all, 0); fmt.Sprint(got, more) != "[1 4 7 10 13] false" {
		t.Errorf("all: %v %v", got, more)
	}
	if got, more := ids(all, 2); fmt.Sprint(got, more) != "[10 13] true" {
		t.Errorf("two: %v %v", got, more)
	}
	if got, more := ids(func(o entity.Operation) bool { return o.ID == "4" }, 2); fmt.Sprint(got, more) != "[4] false" {
		t.Errorf("one: %v %v", got, more)
	}
	found, err := w.st.Tasks().Find(w.ctx, "1")
	w.ok(err)
	if fmt.Sprint(found) != "[11 12 14 15]" {
		t.Errorf("with a 1: %v", found)
	}
}

// Tasks are removed by age and by size, with their operations; those that are not over stay.
func TestPruneTasks(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.busyService(1)
	u := w.started("busy/0")
	var ids []string
	for range 4 {
		ids = append(ids, w.enqueues(command("busy/0")))
		c.pass(time.Hour)
	}
	finish := func(id string) {
		large := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
		w.ok(u.FinishTask(w.ctx, id, entity.TaskOutcome{Status: entity.TaskCompleted, Results: large}))
		c.pass(time.Hour)
	}
	prunes := func(config map[string]string, want int) {
		t.Helper()
		w.ok(w.st.Settings().SetConfig(w.ctx, config, nil))
		if n, err := w.st.Tasks().Prune(w.ctx); err != nil || n != want {
			t.Errorf("%v removed %d, %v; want %d", config, n, err, want)
		}
	}
	finish(ids[1])
	finish(ids[0])
	finish(ids[2])
	prunes(nil, 0)
	prunes(map[string]string{modelconfig.TaskAge: "150m"}, 1)
	prunes(map[string]string{modelconfig.TaskAge: "0s", modelconfig.TaskSize: "2M"}, 1)
	prunes(map[string]string{modelconfig.TaskSize: "0M"}, 0)
	left, _, err := w.st.Tasks().Operations(w.ctx, func(entity.Operation) bool { return true }, 0)
	w.ok(err)
	if len(left) != 2 || left[0].Tasks[0].ID != ids[2] || left[1].Tasks[0].ID != ids[3] {
		t.Errorf("left: %+v", left)
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
	operation, ids, errs, err := w.st.Tasks().Enqueue(w.ctx, []state.NewTask{command(id), command("busy/0"), command(id),
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
	if want := []entity.TaskRef{{ID: ids[0], Status: entity.TaskPending}, {ID: ids[2], Status: entity.TaskPending}}; !slices.Equal(
		own, want) {
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
