package tasks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/tasks"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// pending is a task that waits for busy/0; others differ.
func pending(number int, change func(*modeldb.Task)) modeldb.Task {
	d := modeldb.Task{Number: number, Operation: "1", Receiver: "busy/0", Name: "backup", Params: `{"level":5}`, Status: entity.TaskPending}
	if change != nil {
		change(&d)
	}
	d.ID = modeldb.TaskID(d.Receiver, number)
	return d
}

func with(status entity.TaskStatus) func(*modeldb.Task) {
	return func(d *modeldb.Task) { d.Status = status }
}

func TestTheLifeOfATask(t *testing.T) {
	t.Parallel()
	m := newModel(t, pending(2, nil), pending(10, nil), pending(3, func(d *modeldb.Task) { d.Receiver = "busy/1" }), pending(4, with(entity.TaskCompleted)))
	begin := func(receiver, id string) (entity.Task, error) { return tasks.Begin(m.Ctx, m.DB, receiver, id) }
	finish := func(receiver, id string, o entity.TaskOutcome) error {
		return tasks.Finish(m.Ctx, m.DB, receiver, id, o)
	}
	log := func(receiver, message string) error { return tasks.Log(m.Ctx, m.DB, receiver, "2", message) }
	refs := func(want ...entity.TaskRef) {
		t.Helper()
		got, err := tasks.Refs(m.Ctx, m.DB, "busy/0")
		m.OK(err)
		modeltest.Same(t, "unfinished are", got, want)
	}
	later := entity.TaskRef{ID: "10", Status: entity.TaskPending}
	refs(entity.TaskRef{ID: "2", Status: entity.TaskPending}, later)
	failed := entity.TaskOutcome{Status: entity.TaskFailed}
	_, err := begin("busy/1", "2")
	m.Refused(err, entity.Unauthorized, "permission denied")
	m.Refused(finish("busy/1", "2", failed), entity.Unauthorized, "permission denied")
	m.Refused(log("busy/1", "x"), entity.Unauthorized, "permission denied")
	m.Refused(log("busy/0", "early"), entity.Invalid, `cannot log message to task "2" with status pending`)
	got, err := begin("busy/0", "2")
	m.OK(err)
	began := m.Time
	if got.Name != "backup" || string(got.Params) != `{"level":5}` || got.Status != entity.TaskRunning || !got.Started.Equal(began) {
		t.Errorf("%+v", got)
	}
	modeltest.Same(t, "it is written", task(t, m, "2", entity.TaskRunning), got)
	m.Time = m.Time.Add(time.Minute)
	if again, err := begin("busy/0", "2"); err != nil || again.Status != entity.TaskRunning || !again.Started.Equal(began) {
		t.Errorf("begun again: %+v, %v", again, err)
	}
	refs(entity.TaskRef{ID: "2", Status: entity.TaskRunning}, later)
	for _, id := range []string{"77", "4", "", "02", "x"} {
		_, err = begin("busy/0", id)
		m.Refused(err, entity.TaskGone, "action no longer available")
		m.OK(finish("busy/0", id, failed))
	}
	m.OK(log("busy/0", "half done"))
	m.Refused(log("busy/0", strings.Repeat("x", limits.TaskMessage.Max+1)), entity.Invalid, "message of a task")
	done := entity.TaskOutcome{Status: entity.TaskCompleted, Results: `{"a.b":{"$c":1}}`, Message: "fine"}
	m.OK(finish("busy/0", "2", done))
	m.OK(finish("busy/0", "2", failed)) // too late
	got = task(t, m, "2", entity.TaskCompleted)
	if string(got.Results) != done.Results || got.Message != "fine" || !got.Started.Equal(began) || !got.Completed.Equal(m.Time) {
		t.Errorf("%+v", got)
	}
	modeltest.Same(t, "it has logged", got.Log, []entity.TaskMessage{{At: m.Time, Message: "half done"}})
	doc := modeltest.Get[modeldb.Task](m, modeldb.TaskID("busy/0", 2))
	if want := len(`{"level":5}`) + len("half done") + len("fine") + len(done.Results); doc.Size != want {
		t.Errorf("its size is %d, want %d", doc.Size, want)
	}
	refs(later)
	if _, err := tasks.Of(m.DB).Task(m.Ctx, "77"); !entity.IsNotFound(err) || err.Error() != `task "77" not found` {
		t.Errorf("got %v", err)
	}
	if _, err := tasks.Of(m.DB).Task(m.Ctx, "02"); !entity.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// A task that is cancelled while it runs is aborted, however it ends, unless it is complete.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		is, then entity.TaskStatus
		outcome  entity.TaskStatus // of the receiver, thereafter
		end      entity.TaskStatus
	}{
		{entity.TaskPending, entity.TaskCancelled, entity.TaskFailed, entity.TaskCancelled},
		{entity.TaskRunning, entity.TaskAborting, entity.TaskFailed, entity.TaskAborted},
		{entity.TaskRunning, entity.TaskAborting, entity.TaskCompleted, entity.TaskCompleted},
		{entity.TaskAborting, entity.TaskAborting, entity.TaskFailed, entity.TaskAborted},
		{entity.TaskCompleted, entity.TaskCompleted, entity.TaskFailed, entity.TaskCompleted},
	} {
		t.Run(string(c.is), func(t *testing.T) {
			t.Parallel()
			m := newModel(t, pending(2, with(c.is)))
			m.OK(tasks.Of(m.DB).Cancel(m.Ctx, "2"))
			got := task(t, m, "2", c.then)
			if c.then == entity.TaskCancelled && (got.Message != "action cancelled via the API" || !got.Completed.Equal(m.Time)) {
				t.Errorf("%+v", got)
			}
			if c.then == entity.TaskAborting {
				m.OK(tasks.Log(m.Ctx, m.DB, "busy/0", "2", "stopping"))
			}
			m.OK(tasks.Finish(m.Ctx, m.DB, "busy/0", "2", entity.TaskOutcome{Status: c.outcome}))
			task(t, m, "2", c.end)
		})
	}
	t.Run("no task", func(t *testing.T) {
		t.Parallel()
		m := newModel(t)
		m.Refused(tasks.Of(m.DB).Cancel(m.Ctx, "9"), entity.NotFound, `task "9" not found`)
	})
}

// A task changes only from the status that was read.
func TestTasksAreAsTheyWereRead(t *testing.T) {
	aborts := func(m *modeltest.Model) { m.Put(pending(2, with(entity.TaskAborting))) }
	for name, c := range map[string]struct {
		is      entity.TaskStatus
		call    func(*modeltest.Model) error
		between func(*modeltest.Model)
		want    entity.TaskStatus
		err     string
	}{
		"begun when it is cancelled": {entity.TaskPending, func(m *modeltest.Model) error {
			_, err := tasks.Begin(m.Ctx, m.DB, "busy/0", "2")
			return err
		}, func(m *modeltest.Model) { m.Put(pending(2, with(entity.TaskCancelled))) }, entity.TaskCancelled, "action no longer available"},
		"finished when it is cancelled": {entity.TaskRunning, func(m *modeltest.Model) error {
			return tasks.Finish(m.Ctx, m.DB, "busy/0", "2", entity.TaskOutcome{Status: entity.TaskFailed})
		}, aborts, entity.TaskAborted, ""},
		"logs when it is over": {entity.TaskRunning, func(m *modeltest.Model) error { return tasks.Log(m.Ctx, m.DB, "busy/0", "2", "x") },
			func(m *modeltest.Model) { m.Put(pending(2, with(entity.TaskFailed))) }, entity.TaskFailed, "with status failed"},
		"cancelled when it is begun": {entity.TaskPending, func(m *modeltest.Model) error { return tasks.Of(m.DB).Cancel(m.Ctx, "2") },
			func(m *modeltest.Model) { m.Put(pending(2, with(entity.TaskRunning))) }, entity.TaskAborting, ""},
		"cancelled when it is over": {entity.TaskRunning, func(m *modeltest.Model) error { return tasks.Of(m.DB).Cancel(m.Ctx, "2") },
			func(m *modeltest.Model) { m.Put(pending(2, with(entity.TaskCompleted))) }, entity.TaskCompleted, ""},
		"cancelled with its unit when it is begun": {entity.TaskPending, func(m *modeltest.Model) error { return tasks.CancelLeft(m.Ctx, m.DB, "busy/0") },
			func(m *modeltest.Model) { m.Put(pending(2, with(entity.TaskRunning))) }, entity.TaskCancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, pending(2, with(c.is)))
			err := m.Race(func() { c.between(m) }, func() error { return c.call(m) })
			if c.err == "" {
				m.OK(err)
			} else if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
			}
			task(t, m, "2", c.want)
		})
	}
}

func TestMessagesAreLimited(t *testing.T) {
	t.Parallel()
	m := newModel(t, pending(2, func(d *modeldb.Task) {
		d.Status, d.Log = entity.TaskRunning, make([]entity.TaskMessage, limits.TaskMessages.Max-1)
	}))
	m.OK(tasks.Log(m.Ctx, m.DB, "busy/0", "2", "last"))
	m.Refused(tasks.Log(m.Ctx, m.DB, "busy/0", "2", "too many"), entity.Invalid, "messages of a task: 1001 messages")
}

// What is left of the tasks of a unit or machine that is removed is cancelled.
func TestCancelLeft(t *testing.T) {
	t.Parallel()
	m := newModel(t, pending(2, nil), pending(3, with(entity.TaskRunning)), pending(4, with(entity.TaskCompleted)),
		pending(5, func(d *modeldb.Task) { d.Receiver = "busy/1" }), pending(6, func(d *modeldb.Task) { d.Receiver = "0" }))
	m.OK(tasks.CancelLeft(m.Ctx, m.DB, "busy/0"))
	m.OK(tasks.CancelLeft(m.Ctx, m.DB, "0"))
	for id, want := range map[string]string{"2": "unit removed", "3": "unit removed", "6": "machine removed"} {
		if got := task(t, m, id, entity.TaskCancelled); got.Message != want || !got.Completed.Equal(m.Time) {
			t.Errorf("%+v", got)
		}
	}
	task(t, m, "4", entity.TaskCompleted)
	task(t, m, "5", entity.TaskPending)
}

// Operations are found by what matches, the last of them first, however many there are; lists lack what may be large.
func TestOperations(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	for i := range 150 { // more than are read at once
		id := fmt.Sprint(1 + 3*i)
		m.Put(modeldb.Operation{ID: id, Summary: "s" + id, Enqueued: m.Time}, pending(3+3*i, func(d *modeldb.Task) {
			d.Operation, d.Results, d.Log = id, "{}", []entity.TaskMessage{{Message: "x"}}
		}), pending(2+3*i, func(d *modeldb.Task) { d.Operation = id }))
	}
	m.Put(modeldb.Operation{ID: "1000", Summary: "none"})
	ids := func(match func(entity.Operation) bool, limit int) string {
		t.Helper()
		all, more, err := tasks.Of(m.DB).Operations(m.Ctx, match, limit)
		m.OK(err)
		var shown []string
		for _, o := range all {
			text := o.ID + ":"
			for _, d := range o.Tasks {
				text += d.ID + ","
				if d.Params != nil || d.Results != nil || d.Log != nil {
					t.Errorf("a list has %+v", d)
				}
			}
			shown = append(shown, text)
		}
		if len(shown) > 4 {
			shown = []string{fmt.Sprint(len(shown)), shown[0], shown[len(shown)-1]}
		}
		return fmt.Sprint(shown, more)
	}
	all := func(entity.Operation) bool { return true }
	either := func(o entity.Operation) bool { return o.ID == "4" || o.ID == "1" }
	for want, got := range map[string]string{
		"[151 1:2,3, 1000:] false":               ids(all, 0),
		"[448:449,450, 1000:] true":              ids(all, 2),
		"[445:446,447, 448:449,450, 1000:] true": ids(all, 3),
		"[4:5,6,] false":                         ids(func(o entity.Operation) bool { return o.ID == "4" }, 1),
		"[1:2,3, 4:5,6,] false":                  ids(either, 2),
		"[4:5,6,] true":                          ids(either, 1),
	} {
		if got != want {
			t.Errorf("found %s, want %s", got, want)
		}
	}
	o, err := tasks.Of(m.DB).Operation(m.Ctx, "4")
	m.OK(err)
	if o.Summary != "s4" || !o.Enqueued.Equal(m.Time) || len(o.Tasks) != 2 || string(o.Tasks[1].Results) != "{}" || len(o.Tasks[1].Log) != 1 ||
		string(o.Tasks[0].Params) != `{"level":5}` {
		t.Errorf("%+v", o)
	}
	_, err = tasks.Of(m.DB).Operation(m.Ctx, "5")
	m.Refused(err, entity.NotFound, `operation "5" not found`)
	found, err := tasks.Of(m.DB).Find(m.Ctx, "44")
	m.OK(err)
	modeltest.Same(t, "those with 44", found, []string{"44", "440", "441", "443", "444", "446", "447", "449"})
	if found, err = tasks.Of(m.DB).Find(m.Ctx, "9999"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// Tasks that are over are removed by age and by size, the oldest first, with their operations.
func TestPruneTasks(t *testing.T) {
	over := func(number int, age time.Duration, size int, operation string) func(m *modeltest.Model) {
		return func(m *modeltest.Model) {
			m.Put(pending(number, func(d *modeldb.Task) {
				d.Status, d.Completed, d.Size, d.Operation = entity.TaskCompleted, m.Time.Add(-age), size, operation
			}), modeldb.Operation{ID: operation})
		}
	}
	const mb = 1 << 20
	for _, c := range []struct {
		age, size string
		want      string // left
	}{
		{"0s", "0M", "2 3 4 5; 1 10 20"},
		{"2h", "0M", "3 4 5; 1 10 20"}, // what is 2 hours old stays
		{"119m", "0M", "4 5; 1 10"},
		{"1s", "0M", "5; 1"},
		{"0s", "3M", "2 3 4 5; 1 10 20"},
		{"0s", "2M", "3 4 5; 1 10 20"},
		{"0s", "1M", "4 5; 1 10"},
		{"1h", "2M", "4 5; 1 10"},
	} {
		t.Run(c.age+" "+c.size, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, modeldb.Model{ID: modeldb.ModelC, Config: map[string]string{modelconfig.TaskAge: c.age, modelconfig.TaskSize: c.size}})
			over(4, time.Hour, mb, "10")(m)
			over(3, 2*time.Hour, mb, "20")(m)
			over(2, 3*time.Hour, mb, "20")(m)
			m.Put(pending(5, func(d *modeldb.Task) { d.Operation, d.Size = "1", 9*mb }), modeldb.Operation{ID: "1"}) // is not over
			removed, err := tasks.Of(m.DB).Prune(m.Ctx)
			m.OK(err)
			var numbers []string
			for _, d := range modeltest.All[modeldb.Task](m) {
				numbers = append(numbers, fmt.Sprint(d.Number))
			}
			modeltest.Same(t, "left are", strings.Join(numbers, " ")+"; "+strings.Join(m.IDsIn(modeldb.OperationsC), " "), c.want)
			if removed != 4-len(numbers) {
				t.Errorf("it says that it has removed %d", removed)
			}
		})
	}
}
