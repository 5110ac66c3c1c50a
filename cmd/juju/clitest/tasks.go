package clitest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"juju/apiserver/client"
	"juju/state/entity"
)

func (f *FakeModel) ServiceActions(ctx context.Context, service string) (map[string]client.ActionInfo, error) {
	return f.Returns.Actions, f.Note("ServiceActions", service)
}

// enqueued returns the tasks, with the outcomes in errs, and their operation; none if all have failed.
func (f *FakeModel) enqueued() (operation string, _ []client.Enqueued) {
	all := make([]client.Enqueued, len(f.Returns.Tasks))
	errs := f.outcomes(len(f.Returns.Tasks))
	for i, task := range f.Returns.Tasks {
		if all[i].Err = errs[i]; errs[i] == nil {
			all[i].Task, operation = task, "1"
		}
	}
	return operation, all
}

func (f *FakeModel) EnqueueActions(ctx context.Context, action string, values map[string]any, units ...string) (
	string, []client.Enqueued, error,
) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", nil, err
	}
	err = f.Note("EnqueueActions", action, " ", string(text), " ", units)
	operation, tasks := f.enqueued()
	return operation, tasks, err
}

func (f *FakeModel) RunCommand(ctx context.Context, args client.RunArgs) (string, []client.Enqueued, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return "", nil, err
	}
	err = f.Note("RunCommand", string(text))
	operation, tasks := f.enqueued()
	return operation, tasks, err
}

func (f *FakeModel) Task(ctx context.Context, id string) (entity.Task, error) {
	if len(f.Returns.Tasks) == 0 {
		return entity.Task{ID: id}, f.Note("Task", id)
	}
	return f.Returns.Tasks[0], f.Note("Task", id)
}

func (f *FakeModel) CancelTasks(ctx context.Context, ids ...string) ([]client.Enqueued, error) {
	all, errs := make([]client.Enqueued, len(ids)), f.outcomes(len(ids))
	for i, id := range ids {
		if all[i].Err = errs[i]; errs[i] == nil {
			all[i].Task = entity.Task{ID: id, Status: entity.TaskCancelled}
		}
	}
	return all, f.Note("CancelTasks", strings.Join(ids, " "))
}

func (f *FakeModel) FindTasks(ctx context.Context, prefix string) (ids []string, err error) {
	for _, task := range f.Returns.Tasks {
		ids = append(ids, task.ID)
	}
	return ids, f.Note("FindTasks", prefix)
}

func (f *FakeModel) Operation(ctx context.Context, id string) (entity.Operation, error) {
	if id == "999" {
		return entity.Operation{}, errors.Join(f.Note("Operation", id), entity.Errorf(entity.NotFound, "operation %q not found", id))
	}
	f.Mu.Lock()
	tasks := slices.Clone(f.Returns.Tasks)
	f.Mu.Unlock()
	return entity.Operation{ID: id, Summary: "s", Tasks: tasks}, f.Note("Operation", id)
}

func (f *FakeModel) Operations(ctx context.Context, q client.OperationQuery) ([]entity.Operation, bool, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, false, err
	}
	return []entity.Operation{{ID: "1", Summary: "s", Tasks: f.Returns.Tasks}}, true, f.Note("Operations", string(text))
}

func (f *FakeModel) WatchOperation(ctx context.Context, id string) (<-chan struct{}, error) {
	events := make(chan struct{})
	if f.Returns.TaskEvents != nil {
		events = f.Returns.TaskEvents
	}
	return events, f.Note("WatchOperation", id)
}
