package state

import (
	"context"
	"errors"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// taskRefs returns the unit's tasks that are not over, the oldest first.
func (u *Unit) taskRefs() (refs []entity.TaskRef, err error) {
	if !u.doc.Tasked {
		return nil, nil
	}
	docs, err := u.st.unfinishedTasks(u.doc.Name)
	for _, doc := range docs {
		refs = append(refs, entity.TaskRef{ID: doc.task().ID, Status: doc.Status})
	}
	return refs, err
}

func (st *State) unfinishedTasks(unit string) ([]taskDoc, error) {
	var docs []taskDoc
	query := bson.D{{"unit", unit}, {"status", bson.D{{"$in", entity.UnfinishedTask}}}}
	if err := st.Tasks().read(query, withoutValues, &docs); err != nil {
		return nil, err
	}
	entity.SortBy(docs, func(d taskDoc) string { return d.ID })
	return docs, nil
}

// taskDoc reads the document of one of the unit's own tasks.
func (u *Unit) taskDoc(id string) (taskDoc, error) {
	doc, err := u.st.Tasks().taskDoc(id)
	if err == nil && doc.Unit != u.doc.Name {
		err = entity.Errorf(entity.Unauthorized, "permission denied")
	}
	return doc, err
}

// BeginTask records that the unit begins a pending task, and returns the task. It can be repeated.
// The error is entity.TaskGone if the task is over, or was cancelled.
func (u *Unit) BeginTask(ctx context.Context, id string) (entity.Task, error) {
	var doc taskDoc
	now := u.st.now()
	err := u.st.change(ctx, func(o *ops) (err error) {
		if doc, err = u.taskDoc(id); err != nil {
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
		o.Update(tasksC, doc.ID, bson.D{{"status", entity.TaskPending}},
			bson.D{{"$set", bson.D{{"status", doc.Status}, {"started", now}}}})
		return nil
	})
	if errors.Is(err, entity.NotFound) {
		err = entity.Errorf(entity.TaskGone, "action no longer available")
	}
	return doc.task(), err
}

// FinishTask ends one of the unit's tasks. It does nothing to a task that is over or gone.
func (u *Unit) FinishTask(ctx context.Context, id string, outcome entity.TaskOutcome) error {
	now := u.st.now()
	return u.st.change(ctx, func(o *ops) error {
		doc, err := u.taskDoc(id)
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
	now := u.st.now()
	return u.st.change(ctx, func(o *ops) error {
		doc, err := u.taskDoc(id)
		if err != nil {
			return err
		}
		if doc.Status != entity.TaskRunning && doc.Status != entity.TaskAborting {
			return entity.Errorf(entity.Invalid, "cannot log message to task %q with status %s", id, doc.Status)
		}
		if err := entity.LimitTaskMessages.Check(len(doc.Log) + 1); err != nil {
			return err
		}
		o.Update(tasksC, doc.ID, bson.D{{"status", doc.Status}},
			bson.D{{"$push", bson.D{{"log", entity.TaskMessage{At: now, Message: message}}}}})
		return nil
	})
}

// taskedOps leaves to the cleaner to end the tasks of a unit that is removed.
func (u *Unit) taskedOps(o *ops) {
	if u.doc.Tasked {
		o.cleanup(cleanupTasks, u.doc.Name)
	}
}

// cleanupTasks cancels the tasks that a removed unit has left. No other can be added.
func (st *State) cleanupTasks(ctx context.Context, unit string) error {
	docs, err := st.unfinishedTasks(unit)
	if err != nil {
		return err
	}
	now := st.now()
	for _, left := range docs {
		err := st.change(ctx, func(o *ops) error {
			doc, err := st.Tasks().taskDoc(left.task().ID)
			if err == nil && doc.Status.IsOver() {
				return mongo.ErrNothing
			} else if err != nil {
				return err
			}
			o.endTask(doc, now, entity.TaskOutcome{Status: entity.TaskCancelled, Message: "unit removed"})
			return nil
		})
		if err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	return nil
}
