package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"juju/apiserver/client"
	"juju/state/entity"
)

func (f *fakeModel) ServiceActions(ctx context.Context, service string) (map[string]client.ActionInfo, error) {
	return f.actions, f.note("ServiceActions", service)
}

// enqueued returns the tasks, with the outcomes in errs, and their operation; none if all have failed.
func (f *fakeModel) enqueued() (operation string, _ []client.Enqueued) {
	all := make([]client.Enqueued, len(f.tasks))
	errs := f.outcomes(len(f.tasks))
	for i, task := range f.tasks {
		if all[i].Err = errs[i]; errs[i] == nil {
			all[i].Task, operation = task, "1"
		}
	}
	return operation, all
}

func (f *fakeModel) EnqueueActions(ctx context.Context, action string, values map[string]any, units ...string) (
	string, []client.Enqueued, error,
) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", nil, err
	}
	err = f.note("EnqueueActions", action, " ", string(text), " ", units)
	operation, tasks := f.enqueued()
	return operation, tasks, err
}

func (f *fakeModel) RunCommand(ctx context.Context, args client.RunArgs) (string, []client.Enqueued, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return "", nil, err
	}
	err = f.note("RunCommand", string(text))
	operation, tasks := f.enqueued()
	return operation, tasks, err
}

func (f *fakeModel) Task(ctx context.Context, id string) (entity.Task, error) {
	if len(f.tasks) == 0 {
		return entity.Task{ID: id}, f.note("Task", id)
	}
	return f.tasks[0], f.note("Task", id)
}

func (f *fakeModel) CancelTasks(ctx context.Context, ids ...string) ([]client.Enqueued, error) {
	all, errs := make([]client.Enqueued, len(ids)), f.outcomes(len(ids))
	for i, id := range ids {
		if all[i].Err = errs[i]; errs[i] == nil {
			all[i].Task = entity.Task{ID: id, Status: entity.TaskCancelled}
		}
	}
	return all, f.note("CancelTasks", strings.Join(ids, " "))
}

func (f *fakeModel) FindTasks(ctx context.Context, prefix string) (ids []string, err error) {
	for _, task := range f.tasks {
		ids = append(ids, task.ID)
	}
	return ids, f.note("FindTasks", prefix)
}

func (f *fakeModel) Operation(ctx context.Context, id string) (entity.Operation, error) {
	if id == "999" {
		return entity.Operation{}, errors.Join(f.note("Operation", id), entity.Errorf(entity.NotFound, "operation %q not found", id))
	}
	f.mu.Lock()
	tasks := slices.Clone(f.tasks)
	f.mu.Unlock()
	return entity.Operation{ID: id, Summary: "s", Tasks: tasks}, f.note("Operation", id)
}

func (f *fakeModel) Operations(ctx context.Context, q client.OperationQuery) ([]entity.Operation, bool, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, false, err
	}
	return []entity.Operation{{ID: "1", Summary: "s", Tasks: f.tasks}}, true, f.note("Operations", string(text))
}

func (f *fakeModel) WatchOperation(ctx context.Context, id string) (<-chan struct{}, error) {
	events := make(chan struct{})
	if f.taskEvents != nil {
		events = f.taskEvents
	}
	return events, f.note("WatchOperation", id)
}
