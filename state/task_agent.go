package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/watcher"
)

// What the agents of units and machines do about their own tasks.

// taskRefs returns the unit's tasks that are not over, the oldest first.
func (u *Unit) taskRefs() ([]entity.TaskRef, error) {
	if !u.doc.Tasked {
		return nil, nil
	}
	return u.st.Tasks().refs(u.doc.Name)
}

// BeginTask records that the unit begins a pending task, and returns the task. It can be repeated.
// The error is entity.TaskGone if the task is over, or was cancelled.
func (u *Unit) BeginTask(ctx context.Context, id string) (entity.Task, error) {
	return u.st.Tasks().begin(ctx, u.doc.Name, id)
}

// FinishTask ends one of the unit's tasks. It does nothing to a task that is over or gone.
func (u *Unit) FinishTask(ctx context.Context, id string, outcome entity.TaskOutcome) error {
	return u.st.Tasks().finish(ctx, u.doc.Name, id, outcome)
}

// Tasks returns the machine's tasks that are not over, the oldest first.
func (m *Machine) Tasks(ctx context.Context) ([]entity.TaskRef, error) {
	return m.st.Tasks().refs(m.doc.ID)
}

// BeginTask is Unit.BeginTask for a machine's own tasks.
func (m *Machine) BeginTask(ctx context.Context, id string) (entity.Task, error) {
	return m.st.Tasks().begin(ctx, m.doc.ID, id)
}

// FinishTask is Unit.FinishTask for a machine's own tasks.
func (m *Machine) FinishTask(ctx context.Context, id string, outcome entity.TaskOutcome) error {
	return m.st.Tasks().finish(ctx, m.doc.ID, id, outcome)
}

// MachineTasks fires when a task of the machine may have changed.
func (w Watches) MachineTasks(ctx context.Context, id string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.st.hub, watcher.Prefix(modeldb.TasksC, entity.MachineTag(id).String()+"#")), nil
}

// refs returns the receiver's tasks that are not over, the oldest first.
func (t Tasks) refs(receiver string) (refs []entity.TaskRef, err error) {
	docs, err := t.unfinished(receiver)
	for _, doc := range docs {
		refs = append(refs, entity.TaskRef{ID: doc.Task().ID, Status: doc.Status})
	}
	return refs, err
}

func (t Tasks) unfinished(receiver string) ([]modeldb.Task, error) {
	var docs []modeldb.Task
	query := bson.D{{"unit", receiver}, {"status", bson.D{{"$in", entity.UnfinishedTask}}}}
	if err := t.read(query, withoutValues, &docs); err != nil {
		return nil, err
	}
	entity.SortBy(docs, func(d modeldb.Task) string { return d.ID })
	return docs, nil
}

// own reads the document of one of the receiver's own tasks.
func (t Tasks) own(receiver, id string) (modeldb.Task, error) {
	doc, err := t.taskDoc(id)
	if err == nil && doc.Receiver != receiver {
		err = entity.Errorf(entity.Unauthorized, "permission denied")
	}
	return doc, err
}

func (t Tasks) begin(ctx context.Context, receiver, id string) (entity.Task, error) {
	var doc modeldb.Task
	now := t.st.db.Now()
	err := t.st.change(ctx, func(o *ops) (err error) {
		if doc, err = t.own(receiver, id); err != nil {
			return err
		}
		switch doc.Status {
		case entity.TaskPending:
		case entity.TaskRunning:
			return mongo.ErrNothing
		default:
			return entity.Errorf(entity.TaskGone, "action no longer available")
		}
		doc.Status, doc.Started = entity.TaskRunning, now
		o.Update(modeldb.TasksC, doc.ID, bson.D{{"status", entity.TaskPending}},
			bson.D{{"$set", bson.D{{"status", doc.Status}, {"started", now}}}})
		return nil
	})
	if errors.Is(err, entity.NotFound) {
		err = entity.Errorf(entity.TaskGone, "action no longer available")
	}
	return doc.Task(), err
}

func (t Tasks) finish(ctx context.Context, receiver, id string, outcome entity.TaskOutcome) error {
	now := t.st.db.Now()
	return t.st.change(ctx, func(o *ops) error {
		doc, err := t.own(receiver, id)
		if entity.IsNotFound(err) || err == nil && doc.Status.IsOver() {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		if doc.Status == entity.TaskAborting && outcome.Status == entity.TaskFailed {
			outcome.Status = entity.TaskAborted
		}
		o.endTask(doc, now, outcome)
		return nil
	})
}

// LogTask adds a message to one of the unit's tasks, which must be running.
func (u *Unit) LogTask(ctx context.Context, id, message string) error {
	if err := entity.LimitTaskMessage.CheckText(message); err != nil {
		return err
	}
	now := u.st.db.Now()
	return u.st.change(ctx, func(o *ops) error {
		doc, err := u.st.Tasks().own(u.doc.Name, id)
		if err != nil {
			return err
		}
		if doc.Status != entity.TaskRunning && doc.Status != entity.TaskAborting {
			return entity.Errorf(entity.Invalid, "cannot log message to task %q with status %s", id, doc.Status)
		}
		if err := entity.LimitTaskMessages.Check(len(doc.Log) + 1); err != nil {
			return err
		}
		o.Update(modeldb.TasksC, doc.ID, bson.D{{"status", doc.Status}},
			bson.D{{"$push", bson.D{{"log", entity.TaskMessage{At: now, Message: message}}}}})
		return nil
	})
}

// taskedOps leaves to the cleaner to end the tasks of a unit or machine that is removed.
func (o *ops) taskedOps(receiver string, tasked bool) {
	if tasked {
		o.Cleanup(modeldb.CleanupTasks, receiver)
	}
}

// cleanupTasks cancels the tasks that a removed unit or machine has left. No other can be added.
func (st *State) cleanupTasks(ctx context.Context, receiver string) error {
	docs, err := st.Tasks().unfinished(receiver)
	if err != nil {
		return err
	}
	now, message := st.db.Now(), string(entity.ReceiverTag(receiver).Kind)+" removed"
	for _, left := range docs {
		err := st.change(ctx, func(o *ops) error {
			doc, err := st.Tasks().taskDoc(left.Task().ID)
			if err == nil && doc.Status.IsOver() {
				return mongo.ErrNothing
			} else if err != nil {
				return err
			}
			o.endTask(doc, now, entity.TaskOutcome{Status: entity.TaskCancelled, Message: message})
			return nil
		})
		if err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	return nil
}
