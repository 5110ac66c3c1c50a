package facades

import (
	"context"
	"encoding/json"
	"slices"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// actionEnqueue adds an operation with tasks.
func actionEnqueue(ctx context.Context, c *Caller, p params.Actions) (params.EnqueuedActions, error) {
	var tasks []state.NewTask
	for _, a := range p.Actions {
		receiver := a.Receiver // "mysql/leader"
		if tag, err := params.ParseTag(a.Receiver); err == nil {
			if tag.Kind != entity.KindUnit && tag.Kind != entity.KindMachine {
				return params.EnqueuedActions{}, entity.Errorf(entity.NotSupported, "cannot run actions on %s", tag)
			}
			receiver = tag.ID
		}
		if a.Name == entity.CommandTask {
			// Running arbitrary commands needs the access that Run checks.
			return params.EnqueuedActions{}, entity.Errorf(entity.Invalid, "cannot run %q as an action", a.Name)
		}
		tasks = append(tasks, state.NewTask{Receiver: receiver, Name: a.Name, Params: a.Parameters, Parallel: a.Parallel,
			Group: a.ExecutionGroup})
	}
	return c.enqueue(ctx, tasks)
}

func (c *Caller) enqueue(ctx context.Context, tasks []state.NewTask) (params.EnqueuedActions, error) {
	var result params.EnqueuedActions
	operation, ids, errs, err := c.Model.Tasks().Enqueue(ctx, tasks)
	if err != nil {
		return result, err
	}
	if operation != "" {
		result.OperationTag = params.TagOf(entity.OperationTag(operation))
	}
	for i, id := range ids {
		if errs[i] != nil {
			e := c.wireError("EnqueueOperation", errs[i])
			result.Actions = append(result.Actions, params.ActionResult{Error: e})
			continue
		}
		task, err := c.Model.Tasks().Task(ctx, id)
		if err != nil {
			return result, err
		}
		result.Actions = append(result.Actions, params.ActionResultOf(task))
	}
	return result, nil
}

// actionRun runs a command on units and machines.
func actionRun(ctx context.Context, c *Caller, p params.RunParams) (params.EnqueuedActions, error) {
	receivers := slices.Clone(p.Units)
	for _, name := range p.Applications {
		svc, err := c.Model.Service(ctx, name)
		if err != nil {
			return params.EnqueuedActions{}, err
		}
		all, err := svc.UnitNames(ctx)
		if err != nil {
			return params.EnqueuedActions{}, err
		}
		for _, unit := range all {
			if !slices.Contains(receivers, unit) {
				receivers = append(receivers, unit)
			}
		}
	}
	return c.runCommand(ctx, p, append(receivers, p.Machines...))
}

// actionRunOnAllMachines runs a command on every machine of the model.
func actionRunOnAllMachines(ctx context.Context, c *Caller, p params.RunParams) (params.EnqueuedActions, error) {
	all, err := c.Model.Machines(ctx)
	if err != nil {
		return params.EnqueuedActions{}, err
	}
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID())
	}
	return c.runCommand(ctx, p, ids)
}

// runCommand runs a command on units and machines.
func (c *Caller) runCommand(ctx context.Context, p params.RunParams,
	receivers []string) (params.EnqueuedActions, error) {
	var tasks []state.NewTask
	for _, receiver := range receivers {
		tasks = append(tasks, state.NewTask{Receiver: receiver, Name: entity.CommandTask, Parallel: p.Parallel,
			Group: p.ExecutionGroup, Params: map[string]any{
				entity.CommandParam: p.Commands, entity.TimeoutParam: p.Timeout.Nanoseconds()}})
	}
	return c.enqueue(ctx, tasks)
}

// taskResults calls do for each task and collects the results.
func (c *Caller) taskResults(
	doing string, tags []params.Entity, do func(id string) (entity.Task, error),
) params.ActionResults {
	results := make([]params.ActionResult, 0, len(tags))
	for _, e := range tags {
		task, err := entity.Task{}, entity.Errorf(entity.Invalid, "%s is not a task", e.Tag)
		if e.Tag.Kind == entity.KindTask {
			task, err = do(e.Tag.ID)
		}
		if err != nil {
			e := c.wireError(doing, err)
			results = append(results, params.ActionResult{Error: e})
			continue
		}
		results = append(results, params.ActionResultOf(task))
	}
	return params.ActionResults{Results: results}
}

func actionActions(ctx context.Context, c *Caller, p params.Entities) (params.ActionResults, error) {
	return c.taskResults("Actions", p.Entities, func(id string) (entity.Task, error) {
		task, err := c.Model.Tasks().Task(ctx, id)
		if err == nil {
			err = c.keep(ctx, task)
		}
		return task, err
	}), nil
}

func actionCancel(ctx context.Context, c *Caller, p params.Entities) (params.ActionResults, error) {
	return c.taskResults("Cancel", p.Entities, func(id string) (entity.Task, error) {
		if err := c.Model.Tasks().Cancel(ctx, id); err != nil {
			return entity.Task{}, err
		}
		return c.Model.Tasks().Task(ctx, id)
	}), nil
}

func actionFindTags(ctx context.Context, c *Caller, p params.FindTags) (params.FindTagsResults, error) {
	result := params.FindTagsResults{Matches: map[string][]params.Entity{}}
	for _, prefix := range p.Prefixes {
		ids, err := c.Model.Tasks().Find(ctx, prefix)
		if err == nil {
			err = c.keep(ctx, ids)
		}
		if err != nil {
			return result, err
		}
		for _, id := range ids {
			result.Matches[prefix] = append(result.Matches[prefix], params.Entity{Tag: params.TagOf(entity.TaskTag(id))})
		}
	}
	return result, nil
}

func actionOperations(ctx context.Context, c *Caller, p params.Entities) (params.OperationResults, error) {
	results := make([]params.OperationResult, 0, len(p.Entities))
	for _, e := range p.Entities {
		operation, err := c.Model.Tasks().Operation(ctx, e.Tag.ID)
		if err == nil {
			err = c.keep(ctx, operation)
		}
		result := params.OperationResultOf(operation)
		if err != nil {
			result = params.OperationResult{Error: c.wireError("Operations", err)}
		}
		results = append(results, result)
	}
	return params.OperationResults{Results: results}, nil
}

// defaultOperations is the number of operations that are listed by default.
const defaultOperations = 50

func actionListOperations(
	ctx context.Context, c *Caller, p params.OperationQueryArgs,
) (params.OperationResults, error) {
	limit := defaultOperations
	if p.Limit != nil && *p.Limit > 0 {
		limit = *p.Limit
	}
	all, more, err := c.Model.Tasks().Operations(ctx, func(o entity.Operation) bool { return matches(o, p) }, limit)
	if err == nil {
		err = c.keep(ctx, all)
	}
	result := params.OperationResults{Truncated: more, Results: []params.OperationResult{}}
	for _, o := range all {
		result.Results = append(result.Results, params.OperationResultOf(o))
	}
	return result, err
}

// matches reports whether a query selects an operation.
func matches(o entity.Operation, p params.OperationQueryArgs) bool {
	if len(p.Status) > 0 && !slices.Contains(p.Status, string(entity.OperationStatus(o.Tasks))) {
		return false
	}
	has := func(names []string, of func(entity.Task) string) bool {
		return len(names) == 0 || slices.ContainsFunc(o.Tasks, func(t entity.Task) bool {
			return slices.Contains(names, of(t))
		})
	}
	return has(p.ActionNames, func(t entity.Task) string { return t.Name }) &&
		has(p.Units, func(t entity.Task) string { return t.Receiver }) &&
		has(p.Machines, func(t entity.Task) string { return t.Receiver }) &&
		has(p.Applications, func(t entity.Task) string { return entity.UnitService(t.Receiver) })
}

// actionCharmActions returns the actions of services' charms.
func actionCharmActions(
	ctx context.Context, c *Caller, p params.Entities,
) (params.ApplicationsCharmActionsResults, error) {
	var all params.ApplicationsCharmActionsResults
	for _, e := range p.Entities {
		result := params.ApplicationCharmActionsResult{ApplicationTag: e.Tag}
		svc, err := c.Model.Service(ctx, e.Tag.ID)
		if err == nil {
			result.Actions, err = c.charmActions(ctx, svc.CharmURL())
		}
		if err == nil {
			err = c.keep(ctx, result.Actions)
		}
		if err != nil {
			result.Actions = nil
			result.Error = c.wireError("ApplicationsCharmsActions", err)
		}
		all.Results = append(all.Results, result)
	}
	return all, nil
}

func (c *Caller) charmActions(ctx context.Context, url string) (map[string]params.CharmActionSpec, error) {
	ch, err := c.Model.Charms().Get(ctx, url)
	if err != nil {
		return nil, err
	}
	specs := map[string]params.CharmActionSpec{}
	for name, spec := range ch.Actions.Specs {
		specs[name] = params.CharmActionSpec{Description: spec.Description, Params: spec.Schema}
	}
	return specs, nil
}

// statusWatchOperation sends an event when a task of an operation may have changed.
func statusWatchOperation(ctx context.Context, c *Caller, p params.Entity) (Stream, error) {
	return Notify(c.Model.Watches().Operation(ctx, p.Tag.ID))
}

// actionWatchProgress starts a watch of each task, which sends what the task has logged and then what it logs, as JSON.
func actionWatchProgress(_ context.Context, c *Caller, p params.Entities) (params.StringsWatchResults, error) {
	return params.StringsWatchResults{Results: each(c, "WatchActionsProgress", p.Entities,
		func(e *params.Error) params.StringsWatchResult { return params.StringsWatchResult{Error: e} },
		func(e params.Entity) (params.StringsWatchResult, error) {
			if err := isKind(e.Tag, entity.KindTask); err != nil {
				return params.StringsWatchResult{}, err
			}
			id, err := c.Request.Watch(c.who, func(ctx context.Context) (Stream, error) { return c.watchLog(ctx, e.Tag.ID) })
			return params.StringsWatchResult{WatcherID: id}, err
		})}, nil
}

func (c *Caller) watchLog(ctx context.Context, id string) (Stream, error) {
	task, err := c.Model.Tasks().Task(ctx, id)
	if err != nil {
		return Stream{}, err
	}
	changes, err := c.Model.Watches().Operation(ctx, task.Operation)
	if err != nil {
		return Stream{}, err
	}
	out := make(chan []string)
	go func() {
		defer close(out)
		sent := 0
		for range changes {
			task, err := c.Model.Tasks().Task(ctx, id)
			if err != nil {
				return // it was removed, or the client begins again
			}
			var lines []string
			for _, m := range task.Log[sent:] {
				line, _ := json.Marshal(params.ActionMessage{Timestamp: m.At, Message: m.Message}) // a text always can be
				lines = append(lines, string(line))
			}
			if len(lines) == 0 {
				continue
			}
			select {
			case out <- lines:
				sent = len(task.Log)
			case <-ctx.Done():
				return
			}
		}
	}()
	s, err := Names(out, nil)
	s.Facade = "StringsWatcher"
	return s, err
}
