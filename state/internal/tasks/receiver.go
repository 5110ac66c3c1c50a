package tasks

import (
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// Refs returns the unit's unfinished tasks, oldest first.
func Refs(ctx context.Context, db *modeltxn.DB, unit string) (refs []entity.TaskRef, err error) {
	docs, err := Of(db).unfinished(ctx, unit)
	for _, doc := range docs {
		refs = append(refs, entity.TaskRef{ID: doc.Task().ID, Status: doc.Status})
	}
	return refs, err
}

// OfMachine returns the machine's unfinished tasks, oldest first.
func OfMachine(ctx context.Context, db *modeltxn.DB, machine string) (all []entity.MachineTask, err error) {
	docs, err := Of(db).unfinished(ctx, machine)
	for _, doc := range docs {
		all = append(all, entity.MachineTask{TaskRef: entity.TaskRef{ID: doc.Task().ID, Status: doc.Status},
			Parallel: doc.Parallel, Group: doc.Group})
	}
	return all, err
}

func (t Tasks) unfinished(ctx context.Context, receiver string) ([]modeldb.Task, error) {
	var docs []modeldb.Task
	query := bson.D{{"unit", receiver}, {"status", bson.D{{"$in", entity.UnfinishedTask}}}}
	if err := t.read(ctx, query, withoutValues, &docs); err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b modeldb.Task) int { return entity.CompareNatural(a.ID, b.ID) })
	return docs, nil
}

// own reads the document of one of the receiver's tasks.
func (t Tasks) own(ctx context.Context, receiver, id string) (modeldb.Task, error) {
	doc, err := t.taskDoc(ctx, id)
	if err == nil && doc.Receiver != receiver {
		err = entity.Errorf(entity.Unauthorized, "permission denied")
	}
	return doc, err
}

// Begin records that the receiver starts a pending task, and returns the task. It is idempotent. The error is
// entity.TaskGone if the task is complete or was cancelled.
func Begin(ctx context.Context, db *modeltxn.DB, receiver, id string) (entity.Task, error) {
	var doc modeldb.Task
	now := db.Now()
	err := db.Change(ctx, func(o *modeltxn.Ops) (err error) {
		if doc, err = Of(db).own(ctx, receiver, id); err != nil {
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

// Finish completes one of the receiver's tasks. It does nothing if the task is complete or removed.
func Finish(ctx context.Context, db *modeltxn.DB, receiver, id string, outcome entity.TaskOutcome) error {
	now := db.Now()
	return db.Change(ctx, func(o *modeltxn.Ops) error {
		doc, err := Of(db).own(ctx, receiver, id)
		if entity.IsNotFound(err) || err == nil && doc.Status.IsOver() {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		if doc.Status == entity.TaskAborting && outcome.Status == entity.TaskFailed {
			outcome.Status = entity.TaskAborted
		}
		endTask(o, doc, now, outcome)
		return nil
	})
}

// Log adds a message to one of the receiver's tasks, which must be running.
func Log(ctx context.Context, db *modeltxn.DB, receiver, id, message string) error {
	if err := limits.TaskMessage.CheckText(message); err != nil {
		return err
	}
	now := db.Now()
	return db.Change(ctx, func(o *modeltxn.Ops) error {
		doc, err := Of(db).own(ctx, receiver, id)
		if err != nil {
			return err
		}
		if doc.Status != entity.TaskRunning && doc.Status != entity.TaskAborting {
			return entity.Errorf(entity.Invalid, "cannot log message to task %q with status %s", id, doc.Status)
		}
		if err := limits.TaskMessages.Check(len(doc.Log) + 1); err != nil {
			return err
		}
		o.Update(modeldb.TasksC, doc.ID, bson.D{{"status", doc.Status}},
			bson.D{{"$push", bson.D{{"log", entity.TaskMessage{At: now, Message: message}}}}})
		return nil
	})
}

// CancelLeft cancels the tasks of a removed unit or machine, which can't get new ones.
func CancelLeft(ctx context.Context, db *modeltxn.DB, receiver string) error {
	docs, err := Of(db).unfinished(ctx, receiver)
	if err != nil {
		return err
	}
	now, outcome := db.Now(), entity.TaskOfRemoved(entity.ReceiverTag(receiver).Kind)
	for _, left := range docs {
		err := db.Change(ctx, func(o *modeltxn.Ops) error {
			doc, err := Of(db).taskDoc(ctx, left.Task().ID)
			if err == nil && doc.Status.IsOver() {
				return mongo.ErrNothing
			} else if err != nil {
				return err
			}
			endTask(o, doc, now, outcome)
			return nil
		})
		if err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	return nil
}
