package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// action makes a request to the Action facade.
func (c *Conn) action(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "Action", 7, method, args, result)
}

// An Enqueued is the result for one of several tasks.
type Enqueued struct {
	Task entity.Task
	Err  error
}

func enqueued(result params.EnqueuedActions) (string, []Enqueued) {
	all := make([]Enqueued, len(result.Actions))
	for i, a := range result.Actions {
		all[i] = Enqueued{a.Task(), params.FromError(a.Error)}
	}
	return result.OperationTag.ID, all
}

// EnqueueActions runs an action with these parameters on units. A unit may be given as "mysql/leader". It returns the
// id of the operation, or "" if every unit was rejected.
func (c *Conn) EnqueueActions(
	ctx context.Context, action string, values map[string]any, units ...string,
) (operation string, tasks []Enqueued, err error) {
	var request params.Actions
	for _, unit := range units {
		if entity.IsValidUnit(unit) {
			unit = entity.UnitTag(unit).String()
		}
		request.Actions = append(request.Actions, params.Action{Receiver: unit, Name: action, Parameters: values})
	}
	var result params.EnqueuedActions
	if err := c.action(ctx, "EnqueueOperation", request, &result); err != nil {
		return "", nil, err
	}
	operation, tasks = enqueued(result)
	return operation, tasks, nil
}

// A RunArgs is a command to run on units and machines.
type RunArgs struct {
	Command  string
	Timeout  time.Duration // 0 for none
	Units    []string
	Services []string
	Machines []string
	All      bool  // all machines; Units, Services and Machines must be empty
	Parallel *bool // whether not to wait for hooks; nil for the default
	Group    *string
}

// RunCommand runs a shell command on units and machines.
func (c *Conn) RunCommand(ctx context.Context, args RunArgs) (operation string, tasks []Enqueued, err error) {
	var result params.EnqueuedActions
	method := "Run"
	if args.All {
		method = "RunOnAllMachines"
	}
	err = c.action(ctx, method, params.RunParams{Commands: args.Command, Timeout: args.Timeout, Units: args.Units,
		Applications: args.Services, Machines: args.Machines, Parallel: args.Parallel, ExecutionGroup: args.Group}, &result)
	operation, tasks = enqueued(result)
	return operation, tasks, err
}

// taskRequest makes a request about tasks.
func (c *Conn) taskRequest(ctx context.Context, method string, ids ...string) ([]Enqueued, error) {
	var result params.ActionResults
	var request params.Entities
	for _, id := range ids {
		request.Entities = append(request.Entities, params.Entity{Tag: params.TagOf(entity.TaskTag(id))})
	}
	if err := c.action(ctx, method, request, &result); err != nil {
		return nil, err
	}
	if err := areAll(len(ids), len(result.Results)); err != nil {
		return nil, err
	}
	all := make([]Enqueued, len(ids))
	for i, r := range result.Results {
		all[i] = Enqueued{r.Task(), params.FromError(r.Error)}
	}
	return all, nil
}

// Task returns a task.
func (c *Conn) Task(ctx context.Context, id string) (entity.Task, error) {
	tasks, err := c.taskRequest(ctx, "Actions", id)
	if err != nil {
		return entity.Task{}, err
	}
	return tasks[0].Task, tasks[0].Err
}

// CancelTasks cancels tasks and returns them.
func (c *Conn) CancelTasks(ctx context.Context, ids ...string) ([]Enqueued, error) {
	return c.taskRequest(ctx, "Cancel", ids...)
}

// FindTasks returns the ids of the tasks whose ids begin with prefix.
func (c *Conn) FindTasks(ctx context.Context, prefix string) (ids []string, err error) {
	var result params.FindTagsResults
	err = c.action(ctx, "FindActionTagsByPrefix", params.FindTags{Prefixes: []string{prefix}}, &result)
	for _, e := range result.Matches[prefix] {
		ids = append(ids, e.Tag.ID)
	}
	return ids, err
}

// Operation returns an operation with its tasks.
func (c *Conn) Operation(ctx context.Context, id string) (entity.Operation, error) {
	var result params.OperationResults
	request := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.OperationTag(id))}}}
	if err := c.action(ctx, "Operations", request, &result); err != nil {
		return entity.Operation{}, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return entity.Operation{}, err
	}
	return result.Results[0].Operation(), params.FromError(result.Results[0].Error)
}

// An OperationQuery selects the operations that have a task matching every list that is not empty.
type OperationQuery struct {
	Services, Units, Machines, Actions, Statuses []string
	Limit                                        int // the newest are returned; 0 for the default
}

// Operations returns operations, oldest first, and whether there are more. Their tasks lack parameters, results and
// messages.
func (c *Conn) Operations(ctx context.Context, q OperationQuery) (all []entity.Operation, more bool, err error) {
	var result params.OperationResults
	err = c.action(ctx, "ListOperations", params.OperationQueryArgs{Applications: q.Services, Units: q.Units,
		Machines: q.Machines, ActionNames: q.Actions, Status: q.Statuses, Limit: &q.Limit}, &result)
	for _, r := range result.Results {
		all = append(all, r.Operation())
	}
	return all, result.Truncated, err
}

// WatchOperation sends an event when a task of the operation may have changed.
func (c *Conn) WatchOperation(ctx context.Context, id string) (<-chan struct{}, error) {
	return watch(ctx, c, "Status", "WatchOperation", params.Entity{Tag: params.TagOf(entity.OperationTag(id))},
		func(params.Event) struct{} { return struct{}{} })
}

// An ActionInfo describes an action of a charm.
type ActionInfo struct {
	Description string
	Schema      map[string]any // of its parameters
}

// ServiceActions returns the actions of a service's charm.
func (c *Conn) ServiceActions(ctx context.Context, service string) (map[string]ActionInfo, error) {
	var result params.ApplicationsCharmActionsResults
	request := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag(service))}}}
	if err := c.action(ctx, "ApplicationsCharmsActions", request, &result); err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	actions := map[string]ActionInfo{}
	for name, spec := range result.Results[0].Actions {
		actions[name] = ActionInfo{spec.Description, spec.Params}
	}
	return actions, params.FromError(result.Results[0].Error)
}
