package state

import (
	"context"
	"strconv"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/tasks"
	"juju/state/watcher"
)

// Tasks returns the model's tasks.
func (st *State) Tasks() tasks.Tasks { return tasks.Of(st.db) }

// A NewTask is a task to enqueue.
type NewTask = tasks.NewTask

// What the agents of units and machines do about their own tasks.

// taskRefs returns the unit's tasks that are not over, the oldest first.
func (u *Unit) taskRefs() ([]entity.TaskRef, error) {
	if !u.doc.Tasked {
		return nil, nil
	}
	return tasks.Refs(u.st.db, u.doc.Name)
}

// BeginTask records that the unit begins a pending task, and returns the task. It can be repeated.
// The error is entity.TaskGone if the task is over, or was cancelled.
func (u *Unit) BeginTask(ctx context.Context, id string) (entity.Task, error) {
	return tasks.Begin(ctx, u.st.db, u.doc.Name, id)
}

// FinishTask ends one of the unit's tasks. It does nothing to a task that is over or gone.
func (u *Unit) FinishTask(ctx context.Context, id string, outcome entity.TaskOutcome) error {
	return tasks.Finish(ctx, u.st.db, u.doc.Name, id, outcome)
}

// Tasks returns the machine's tasks that are not over, the oldest first.
func (m *Machine) Tasks(ctx context.Context) ([]entity.TaskRef, error) {
	return tasks.Refs(m.st.db, m.doc.ID)
}

// BeginTask is Unit.BeginTask for a machine's own tasks.
func (m *Machine) BeginTask(ctx context.Context, id string) (entity.Task, error) {
	return tasks.Begin(ctx, m.st.db, m.doc.ID, id)
}

// FinishTask is Unit.FinishTask for a machine's own tasks.
func (m *Machine) FinishTask(ctx context.Context, id string, outcome entity.TaskOutcome) error {
	return tasks.Finish(ctx, m.st.db, m.doc.ID, id, outcome)
}

// LogTask adds a message to one of the unit's tasks, which must be running.
func (u *Unit) LogTask(ctx context.Context, id, message string) error {
	return tasks.Log(ctx, u.st.db, u.doc.Name, id, message)
}

// MachineTasks fires when a task of the machine may have changed.
func (w Watches) MachineTasks(ctx context.Context, id string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.st.hub, watcher.Prefix(modeldb.TasksC, entity.MachineTag(id).String()+"#")), nil
}

// Operation fires when a task of the operation may have changed.
func (w Watches) Operation(ctx context.Context, id string) (<-chan struct{}, error) {
	operation, err := w.st.Tasks().Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	var topics []watcher.Topic
	for _, t := range operation.Tasks {
		number, err := strconv.Atoi(t.ID)
		if err != nil {
			return nil, err
		}
		topics = append(topics, watcher.Doc(modeldb.TasksC, modeldb.TaskID(t.Receiver, number)))
	}
	return watcher.Notify(ctx, w.st.hub, topics...), nil
}

// taskedOps leaves to the cleaner to end the tasks of a unit or machine that is removed.
func (o *ops) taskedOps(receiver string, tasked bool) {
	if tasked {
		o.Cleanup(modeldb.CleanupTasks, receiver)
	}
}
