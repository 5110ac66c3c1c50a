package simulationtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"juju/state/entity"
)

// A Task is an action of a unit, or a command that runs on it. It outlives its unit.
type Task struct {
	ID        string
	Operation string
	Unit      string
	Status    entity.TaskStatus
	Completed time.Time
}

// MayEnqueue returns the errors that giving a unit a task may return.
func (m *Model) MayEnqueue(u *Unit) Answer {
	switch u.Life.Life {
	case entity.Gone: // it may have been read earlier
		return Answer{entity.NotFound, entity.NotAlive}
	case entity.Dying, entity.Dead:
		return Answer{entity.NotAlive}
	}
	return nil
}

// Enqueue adds a task for a unit.
func (m *Model) Enqueue(id, operation string, u *Unit) {
	m.fresh("t#" + id)
	m.Tasks[id] = &Task{ID: id, Operation: operation, Unit: u.Name, Status: entity.TaskPending}
}

func (t *Task) end(status entity.TaskStatus, now time.Time) { t.Status, t.Completed = status, now }

// isOver reports whether a task has ended.
func (t *Task) isOver() bool { return !t.Completed.IsZero() }

// Cancel is juju cancel-task.
func (m *Model) Cancel(t *Task) Answer {
	switch {
	case m.Tasks[t.ID] == nil:
		return Answer{entity.NotFound}
	case t.Status == entity.TaskPending:
		t.end(entity.TaskCancelled, m.Now)
	case t.Status == entity.TaskRunning:
		t.Status = entity.TaskAborting
	}
	return nil
}

// BeginTask records that a unit's agent begins a task. The agent may report that twice.
func (m *Model) BeginTask(t *Task) Answer {
	switch {
	case m.Tasks[t.ID] == nil:
		return Answer{entity.TaskGone}
	case t.Status == entity.TaskPending:
		t.Status = entity.TaskRunning
	case t.Status != entity.TaskRunning:
		return Answer{entity.TaskGone}
	}
	return nil
}

// FinishTask records that a task has succeeded or failed. A task that fails because it was
// cancelled is aborted.
func (m *Model) FinishTask(t *Task, well bool) {
	switch {
	case t.isOver():
	case well:
		t.end(entity.TaskCompleted, m.Now)
	case t.Status == entity.TaskAborting:
		t.end(entity.TaskAborted, m.Now)
	default:
		t.end(entity.TaskFailed, m.Now)
	}
}

// LogTask records a message from a running task.
func (m *Model) LogTask(t *Task) Answer {
	switch {
	case m.Tasks[t.ID] == nil:
		return Answer{entity.NotFound}
	case t.Status != entity.TaskRunning && t.Status != entity.TaskAborting:
		return Answer{entity.Invalid}
	}
	return nil
}

// unfinished returns the unfinished tasks of a unit, oldest first.
func (m *Model) unfinished(unit string) (all []*Task) {
	for _, t := range m.Tasks {
		if t.Unit == unit && !t.isOver() {
			all = append(all, t)
		}
	}
	number := func(t *Task) int { n, _ := strconv.Atoi(t.ID); return n }
	slices.SortFunc(all, func(a, b *Task) int { return cmp.Compare(number(a), number(b)) })
	return all
}

// Unfinished returns the unfinished tasks of a unit as its agent sees them.
func (m *Model) Unfinished(unit string) (refs []entity.TaskRef) {
	for _, t := range m.unfinished(unit) {
		refs = append(refs, entity.TaskRef{ID: t.ID, Status: t.Status})
	}
	return refs
}

// cancelAll ends the tasks of a unit that is gone.
func (m *Model) cancelAll(unit string) {
	for _, t := range m.unfinished(unit) {
		t.end(entity.TaskCancelled, m.Now)
	}
}

// Prune removes the tasks that ended more than age ago.
func (m *Model) Prune(age time.Duration) {
	maps.DeleteFunc(m.Tasks, func(_ string, t *Task) bool {
		return t.isOver() && t.Completed.Before(m.Now.Add(-age))
	})
}

// TaskFact returns the line of a task.
func TaskFact(operation, unit string, status entity.TaskStatus, completed time.Time) string {
	text := fmt.Sprintf("%s for %s of %s", status, unit, operation)
	if !completed.IsZero() {
		text += fmt.Sprintf(" since %d", completed.UnixMilli())
	}
	return text
}
