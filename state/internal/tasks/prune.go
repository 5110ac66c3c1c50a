package tasks

import (
	"context"
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// Prune removes completed tasks that exceed the age or total size in the model's settings, oldest first, and operations
// without tasks. It returns the number of removed tasks.
func (t Tasks) Prune(ctx context.Context) (removed int, err error) {
	model, err := t.db.Model(ctx)
	if err != nil {
		return 0, err
	}
	age, size := model.Settings().KeepTasks()
	var docs []modeldb.Task
	over := bson.D{{"status", bson.D{{"$nin", entity.UnfinishedTask}}}}
	if err := t.read(ctx, over, bson.D{{"operation", 1}, {"completed", 1}, {"size", 1}}, &docs); err != nil {
		return 0, err
	}
	slices.SortFunc(docs, func(a, b modeldb.Task) int { return b.Completed.Compare(a.Completed) }) // newest first
	oldest, used := time.Time{}, int64(0)
	if age > 0 {
		oldest = t.db.Now().Add(-age)
	}
	for _, doc := range docs {
		if used += int64(doc.Size); !doc.Completed.Before(oldest) && (size == 0 || used <= size) {
			continue
		}
		if err := t.remove(ctx, doc); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// remove removes a completed task, and also its operation if it has no other tasks.
func (t Tasks) remove(ctx context.Context, doc modeldb.Task) error {
	return t.db.Change(ctx, func(o *modeltxn.Ops) error {
		beside, err := t.db.Count(ctx, modeldb.TasksC,
			bson.D{{"operation", doc.Operation}, {"_id", bson.D{{"$ne", doc.ID}}}})
		if err != nil {
			return err
		}
		o.Remove(modeldb.TasksC, doc.ID, nil)
		if beside == 0 { // tasks are never added to an existing operation
			o.Remove(modeldb.OperationsC, doc.Operation, nil)
		}
		return nil
	})
}
