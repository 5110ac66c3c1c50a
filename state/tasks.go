package state

import (
	"context"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/tasks"
)

// Tasks returns the model's tasks.
func (st *State) Tasks() tasks.Tasks { return tasks.Of(st.db) }

// A NewTask is a task to enqueue.
type NewTask = tasks.NewTask

// Operations of the agents of units and machines on their own tasks.

// taskRefs returns the unit's unfinished tasks, oldest first.
func (u *Unit) taskRefs(ctx context.Context) ([]entity.TaskRef, error) {
	if !u.doc.Tasked {
		return nil, nil
	}
	return tasks.Refs(ctx, u.st.db, u.doc.Name)
}

// BeginTask records that the unit has started a pending task, and returns the task. It can be repeated. The error is
// entity.TaskGone if the task is finished or cancelled.
func (u *Unit) BeginTask(ctx context.Context, id string) (entity.Task, error) {
	return tasks.Begin(ctx, u.st.db, u.doc.Name, id)
}

// FinishTask finishes one of the unit's tasks. It does nothing if the task is finished or removed.
func (u *Unit) FinishTask(ctx context.Context, id string, outcome entity.TaskOutcome) error {
	return tasks.Finish(ctx, u.st.db, u.doc.Name, id, outcome)
}

// Tasks returns the machine's unfinished tasks, oldest first.
func (m *Machine) Tasks(ctx context.Context) ([]entity.MachineTask, error) {
	return tasks.OfMachine(ctx, m.st.db, m.doc.ID)
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

// taskedOps has the cleaner end the tasks of a removed unit or machine.
func (o *ops) taskedOps(receiver string, tasked bool) {
	if tasked {
		o.Cleanup(modeldb.CleanupTasks, receiver)
	}
}
