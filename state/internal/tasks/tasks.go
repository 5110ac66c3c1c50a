package tasks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// Tasks are the tasks of the units and machines of a model.
type Tasks struct{ db *modeltxn.DB }

// Of returns the tasks of a model.
func Of(db *modeltxn.DB) Tasks { return Tasks{db} }

// taskDoc reads the document of a task; the error is entity.NotFound if it does not exist.
func (t Tasks) taskDoc(ctx context.Context, id string) (modeldb.Task, error) {
	var docs []modeldb.Task
	number, err := strconv.Atoi(id)
	if err == nil {
		err = t.db.All(ctx, modeldb.TasksC, bson.D{{"number", number}}, &docs)
	}
	if err == nil && len(docs) == 0 || !entity.IsValidTask(id) {
		err = entity.Errorf(entity.NotFound, "task %q not found", id)
	}
	if err != nil {
		return modeldb.Task{}, err
	}
	return docs[0], nil
}

// Task returns a task; the error is entity.NotFound if it does not exist.
func (t Tasks) Task(ctx context.Context, id string) (entity.Task, error) {
	doc, err := t.taskDoc(ctx, id)
	return doc.Task(), err
}

// Find returns the ids of the tasks whose ids begin with prefix, in order.
func (t Tasks) Find(ctx context.Context, prefix string) (ids []string, err error) {
	var docs []modeldb.Task
	if err := t.read(ctx, nil, bson.D{{"number", 1}}, &docs); err != nil {
		return nil, err
	}
	for _, d := range docs {
		if id := strconv.Itoa(d.Number); strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, entity.CompareNatural)
	return ids, nil
}

// Operation returns an operation; the error is entity.NotFound if it does not exist.
func (t Tasks) Operation(ctx context.Context, id string) (entity.Operation, error) {
	var doc modeldb.Operation
	if err := t.db.Get(ctx, modeldb.OperationsC, id, &doc, fmt.Sprintf("operation %q", id)); err != nil {
		return entity.Operation{}, err
	}
	all, err := t.withTasks(ctx, []modeldb.Operation{doc}, nil)
	if err != nil {
		return entity.Operation{}, err
	}
	return all[0], nil
}

// Operations returns the last operations for which match is true, oldest first, and whether there are more. Limit 0
// means all. Their tasks lack parameters, results and messages.
func (t Tasks) Operations(
	ctx context.Context, match func(entity.Operation) bool, limit int,
) (found []entity.Operation, more bool, err error) {
	// The store can't sort the ids, which are numbers stored as text. Reading and sorting 20,000 takes 60 to 90 ms;
	// Prune bounds the number.
	var docs []modeldb.Operation
	if err := t.db.All(ctx, modeldb.OperationsC, nil, &docs); err != nil {
		return nil, false, err
	}
	slices.SortFunc(docs, func(a, b modeldb.Operation) int { return entity.CompareNatural(a.ID, b.ID) })
	for len(docs) > 0 && !more {
		first := max(0, len(docs)-operationsAtOnce)
		batch, err := t.withTasks(ctx, docs[first:], withoutValues)
		if err != nil {
			return nil, false, err
		}
		docs = docs[:first]
		batch = slices.DeleteFunc(batch, func(o entity.Operation) bool { return !match(o) })
		if found = append(batch, found...); limit > 0 && len(found) > limit {
			found, more = found[len(found)-limit:], true
		}
	}
	return found, more, nil
}

// operationsAtOnce is the batch size for reading operations.
const operationsAtOnce = 100

// withoutValues excludes the fields of tasks that may be large.
var withoutValues = bson.D{{"params", 0}, {"results", 0}, {"log", 0}}

// read reads fields of the tasks that match a query; all fields for nil.
func (t Tasks) read(ctx context.Context, query, fields bson.D, docs *[]modeldb.Task) error {
	return t.db.Reading(ctx, modeldb.TasksC, func(c *mgo.Collection) error {
		return cursor.Find(c, query).Select(fields).All(docs)
	})
}

// withTasks reads the tasks of some operations, and returns both in order.
func (t Tasks) withTasks(ctx context.Context, docs []modeldb.Operation, fields bson.D) ([]entity.Operation, error) {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	var tasks []modeldb.Task
	if err := t.read(ctx, bson.D{{"operation", bson.D{{"$in", ids}}}}, fields, &tasks); err != nil {
		return nil, err
	}
	slices.SortFunc(tasks, func(a, b modeldb.Task) int { return a.Number - b.Number })
	of := map[string][]entity.Task{}
	for _, d := range tasks {
		of[d.Operation] = append(of[d.Operation], d.Task())
	}
	all := make([]entity.Operation, len(docs))
	for i, d := range docs {
		all[i] = entity.Operation{ID: d.ID, Summary: d.Summary, Enqueued: d.Enqueued, Tasks: of[d.ID]}
	}
	return all, nil
}

// Cancel cancels a task: immediately if it is pending, by its receiver if it is running. It does nothing if the task is
// complete.
func (t Tasks) Cancel(ctx context.Context, id string) error {
	now := t.db.Now()
	return t.db.Change(ctx, func(o *modeltxn.Ops) error {
		doc, err := t.taskDoc(ctx, id)
		if err != nil {
			return err
		}
		switch doc.Status {
		case entity.TaskPending:
			endTask(o, doc, now, entity.TaskOutcome{Status: entity.TaskCancelled, Message: "action cancelled via the API"})
		case entity.TaskRunning:
			o.Update(modeldb.TasksC, doc.ID, bson.D{{"status", doc.Status}},
				bson.D{{"$set", bson.D{{"status", entity.TaskAborting}}}})
		default:
			return mongo.ErrNothing
		}
		return nil
	})
}

// endTask completes a task.
func endTask(o *modeltxn.Ops, doc modeldb.Task, now time.Time, outcome entity.TaskOutcome) {
	size := len(doc.Params) + len(outcome.Message) + len(outcome.Results)
	for _, m := range doc.Log {
		size += len(m.Message)
	}
	set := bson.D{{"status", outcome.Status}, {"completed", now}, {"size", size}}
	if outcome.Message != "" {
		set = append(set, bson.DocElem{Name: "message", Value: outcome.Message})
	}
	if outcome.Results != "" {
		set = append(set, bson.DocElem{Name: "results", Value: outcome.Results})
	}
	o.Update(modeldb.TasksC, doc.ID, bson.D{{"status", doc.Status}}, bson.D{{"$set", set}})
}
