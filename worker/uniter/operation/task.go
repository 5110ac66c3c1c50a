package operation

import (
	"context"
	"errors"
	"fmt"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// taskAPI is what running tasks needs of the controller.
type taskAPI interface {
	// BeginTask marks a task as running and returns it; entity.TaskGone if it has finished.
	BeginTask(ctx context.Context, unit entity.Tag, id string) (entity.Task, error)
	// FinishTask records a task's outcome; it does nothing if the task has already finished.
	FinishTask(ctx context.Context, unit entity.Tag, id string, outcome entity.TaskOutcome) error
}

// runTask runs an action or a command, or finishes one that has run.
type runTask struct {
	Factory
	id      string         // "" for a command from juju-run
	command *hooks.Command // the command from juju-run; nil if a previous agent has run it
	remote  resolver.Remote
	done    bool // a previous agent has run it
	name    string
}

func (o *runTask) String() string {
	if o.id == "" {
		return "run command"
	}
	return "run task " + o.id
}

func (o *runTask) History() string {
	if o.name == "" {
		return ""
	}
	return "action " + o.name
}

func (o *runTask) Prepare(_ context.Context, s localstate.State) (localstate.State, error) {
	if o.done {
		return s, errSkipExecute
	}
	// If the unit is in error, its failed hook is kept.
	op := &localstate.Op{Kind: localstate.RunTask, Step: localstate.Pending, Task: o.id, After: s.FailedHook()}
	if s.Op != nil && s.Op.Kind == localstate.RunTask {
		op.After = s.Op.After
	}
	return s.With(op), nil
}

func (o *runTask) Execute(
	ctx context.Context, s localstate.State, persist func(localstate.State) error,
) (localstate.State, error) {
	if o.command != nil {
		return o.executeCommand(ctx, s, persist)
	}
	begun, err := o.API.BeginTask(ctx, o.Unit, o.id)
	if errors.Is(err, entity.TaskGone) {
		return s.AfterTask(), nil
	} else if err != nil {
		return s, err
	}
	task, err := hooks.NewTask(begun)
	if err != nil {
		return s, err
	}
	hctx, failed, err := o.run(ctx, s, task, hooks.Info{}, persist)
	op := *s.Op
	op.Step = localstate.Done
	switch {
	case entity.IsDiskFull(err):
		op.Outcome = entity.TaskOutcome{Status: entity.TaskFailed, Message: err.Error()}
		return s.With(&op), nil
	case errors.Is(err, hooks.ErrAbort): // while waiting for the machine lock
		op.Outcome = entity.TaskOutcome{Status: entity.TaskAborted, Message: "aborted"}
		return s.With(&op), nil
	case err != nil:
		return s, err
	}
	if op.Outcome, err = hctx.Outcome(failed); err != nil {
		return s, err
	}
	if failed == nil || failed.ExitCode == 0 { // 0: failed by action-fail, which discards no changes
		op.Changes = hctx.Changes()
	}
	return s.With(&op), nil
}

// executeCommand runs a command from juju-run. It succeeds even if the command can't be run, because that
// concerns only the user.
func (o *runTask) executeCommand(
	ctx context.Context, s localstate.State, persist func(localstate.State) error,
) (localstate.State, error) {
	over := s.AfterTask()
	info, err := o.command.Info(o.contextParams(s, o.remote, hooks.Info{}).Relations)
	if err != nil {
		o.command.Err = err
		return over, nil
	}
	ctx, abort := hooks.WithAbort(ctx)
	defer abort()
	defer context.AfterFunc(o.command.Context, abort)()
	hctx, failed, err := o.run(ctx, s, o.command.Task(), info, persist)
	if hctx != nil && (hctx.Reboot() == hooks.RebootNow || hctx.Reboot() != hooks.NoReboot &&
		err == nil && failed == nil) {
		s.Reboot, over.Reboot = o.remote.Boot, o.remote.Boot
	}
	switch {
	case errors.Is(err, hooks.ErrRebootNow):
		o.command.Err = err
		return over, nil
	case errors.Is(err, hooks.ErrAbort):
		o.command.Err = err
		return over, nil
	case err != nil:
		return s, err
	case failed != nil:
		o.command.Failed(failed)
		return over, nil
	}
	op := *s.Op
	op.Step, op.Changes = localstate.Done, hctx.Changes()
	return s.With(&op), nil
}

// run runs a task, or a command in the relation context given by info. failed is set if it ran and failed; err,
// if it did not run.
func (o *runTask) run(
	ctx context.Context, s localstate.State, task *hooks.Task, info hooks.Info, persist func(localstate.State) error,
) (hctx *hooks.Context, failed *hooks.FailedError, err error) {
	if err := o.announce(ctx, task); err != nil {
		return nil, nil, err
	}
	params := o.contextParams(s, o.remote, info)
	params.Task = task
	waited := false
	params.Waiting = func(ctx context.Context, why string) {
		waited = true
		o.showWaiting(ctx, "action "+task.Name, why)
	}
	params.Stopping = func() { o.showStopping(ctx, "action "+task.Name) }
	if hctx, err = hooks.NewContext(o.API, params); err != nil {
		return nil, nil, err
	}
	o.name = task.Name
	err = o.Runner.Run(ctx, hctx, func(p hooks.Process) error {
		if waited {
			if err := o.announce(ctx, task); err != nil {
				return err
			}
		}
		running := *s.Op
		running.Process = &p
		return persist(s.With(&running))
	})
	if errors.As(err, &failed) {
		err = nil
	}
	return hctx, failed, err
}

func (o *runTask) announce(ctx context.Context, task *hooks.Task) error {
	message := "running action " + task.Name
	if task.Name == entity.CommandTask {
		message = "running commands"
	}
	return o.SetAgentStatus(ctx, entity.StatusExecuting, message)
}

// Commit applies the task's effects, then reports its outcome. It can be repeated.
func (o *runTask) Commit(ctx context.Context, s localstate.State) (localstate.State, error) {
	if s.Op == nil || s.Op.Kind != localstate.RunTask {
		return s, nil // the task had already finished
	}
	op := *s.Op
	if !op.Changes.IsEmpty() {
		err := o.API.CommitHook(ctx, o.Unit, op.Changes)
		if isRefusal(err) {
			err = fmt.Errorf("cannot commit its changes: %w", err)
			op.Outcome.Status, op.Outcome.Message = entity.TaskFailed, err.Error()
			if o.command != nil {
				o.command.Err = err
			}
		} else if err != nil {
			return s, err
		}
	}
	if op.Task == "" {
		return s.AfterTask(), nil
	}
	if err := o.API.FinishTask(ctx, o.Unit, op.Task, op.Outcome); err != nil {
		return s, err
	}
	return s.AfterTask(), nil
}

// failTask kills the processes that an interrupted task left. Its commit reports the outcome.
func (f Factory) failTask(s localstate.State) (localstate.State, error) {
	op := *s.Op
	if op.Process != nil {
		if err := f.EndInterrupted(*op.Process); err != nil {
			return s, err
		}
	}
	if op.Task == "" { // no one is waiting for it any more
		return s.AfterTask(), nil
	}
	op.Step, op.Outcome, op.Process = localstate.Done, entity.TaskTerminated, nil
	return s.With(&op), nil
}
