package machineactions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/loggo"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.machineactions")

// Config is what the worker needs.
type Config struct {
	API     API
	Machine entity.Tag
	Hooks   hooks.RunnerParams // where commands run
	// Turn is a semaphore of size one, held while a command or a unit's hook runs.
	Turn chan struct{}
	// Context returns the current parameters that the environments of all commands share.
	Context func() hooks.ContextParams
}

// recordName is the file in Hooks.RunDir that records the running command.
const recordName = "command.json"

// New returns the worker of one machine. When its context ends, it lets a running command finish, however long
// that takes.
func New(config Config) worker.Func {
	return func(ctx context.Context) error {
		if err := os.MkdirAll(config.Hooks.RunDir, 0o700); err != nil {
			return fmt.Errorf("cannot create the directory of the machine's commands: %w", err)
		}
		runner, err := hooks.NewRunner(config.Hooks)
		if err != nil {
			return err
		}
		defer func() {
			if err := runner.Close(); err != nil {
				logger.Warningf("%v", err)
			}
		}()
		commands, end := hooks.ServeCommands(config.Hooks.RunDir, func(err error) { logger.Errorf("%v", err) })
		defer end()
		r := &running{Config: config, runner: runner, commands: commands,
			record: recordFile(filepath.Join(config.Hooks.RunDir, recordName))}
		return r.loop(ctx)
	}
}

type running struct {
	Config
	runner   *hooks.Runner
	commands <-chan *hooks.Command
	record   recordFile
	events   <-chan struct{}
}

func (r *running) loop(ctx context.Context) (err error) {
	if err := r.recover(ctx); err != nil {
		return err
	}
	// A command that outlives ctx must still be cancellable, so the watch outlives ctx too. But starting the
	// watch may block on the controller, which a stopping agent must not wait for.
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	begun := context.AfterFunc(ctx, end)
	r.events, err = r.API.WatchTasks(watching, r.Machine)
	begun()
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, ok := <-r.events:
			if !ok {
				return worker.Ended(ctx)
			}
		case command := <-r.commands:
			err := r.command(ctx, command)
			if command.Err == nil {
				command.Err = err
			}
			command.End()
			if err != nil {
				return err
			}
		}
		if err := r.tasks(ctx); err != nil {
			return err
		}
	}
}

// recover stops the command that a previous agent left running, and reports its outcome.
func (r *running) recover(ctx context.Context) error {
	left, err := r.record.read()
	if err != nil {
		return err
	}
	if left.Process != nil {
		if err := hooks.EndInterrupted(*left.Process); err != nil {
			return err
		}
	}
	if left.Task != "" {
		outcome := entity.TaskTerminated
		if left.Outcome != nil {
			outcome = *left.Outcome
		}
		if err := r.API.FinishTask(ctx, r.Machine, left.Task, outcome); err != nil {
			return err
		}
	}
	return r.record.clear()
}

// tasks runs the machine's tasks until there are none.
func (r *running) tasks(ctx context.Context) error {
	for ctx.Err() == nil {
		refs, err := r.API.Tasks(ctx, r.Machine)
		if err != nil || len(refs) == 0 {
			return err
		}
		if refs[0].Status != entity.TaskPending { // its agent or its machine was lost while it ran
			err = r.API.FinishTask(ctx, r.Machine, refs[0].ID, entity.TaskTerminated)
		} else {
			err = r.task(ctx, refs[0].ID)
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// task runs a task and reports its outcome.
func (r *running) task(ctx context.Context, id string) error {
	begun, err := r.API.BeginTask(ctx, r.Machine, id)
	if errors.Is(err, entity.TaskGone) {
		return nil
	} else if err != nil {
		return err
	}
	task, err := hooks.NewTask(begun)
	if err != nil {
		return err
	}
	during, abort := hooks.WithAbort(ctx)
	defer abort()
	var outcome entity.TaskOutcome
	done := make(chan error, 1)
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go func() {
		defer end()
		hctx, failed, err := r.run(during, task)
		switch {
		case entity.IsDiskFull(err):
			outcome, err = entity.TaskOutcome{Status: entity.TaskFailed, Message: err.Error()}, nil
		case errors.Is(err, hooks.ErrAbort): // while waiting for hooks
			outcome, err = entity.TaskOutcome{Status: entity.TaskAborted, Message: "aborted"}, nil
		case err == nil:
			outcome, err = hctx.Outcome(failed)
		}
		done <- err
	}()
	if err := r.await(watching, id, done, abort); err != nil {
		return err
	}
	// From here on the task has ended, even if ctx is done.
	if err := r.record.write(record{Task: id, Outcome: &outcome}); entity.IsDiskFull(err) {
		logger.Warningf("%v", err) // the record matters only if the agent is killed before it reports the outcome
	} else if err != nil {
		return err
	}
	ctx, cancelFinish := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancelFinish()
	if err := r.API.FinishTask(ctx, r.Machine, id, outcome); err != nil {
		return err
	}
	return r.record.clear()
}

// await waits for a task to end, and aborts it when a user cancels it. ctx ends with the task.
func (r *running) await(ctx context.Context, id string, done <-chan error, abort func()) error {
	events := r.events
	for {
		select {
		case err := <-done:
			return err
		case _, ok := <-events:
			if !ok {
				// The loop sees this after the task, and restarts the worker. Until then, watch again here.
				var err error
				if events, err = r.API.WatchTasks(ctx, r.Machine); err != nil {
					events = nil
				}
				continue
			}
			refs, err := r.API.Tasks(ctx, r.Machine)
			if err == nil && !slices.ContainsFunc(refs, func(t entity.TaskRef) bool {
				return t.ID == id && t.Status != entity.TaskAborting
			}) {
				abort()
			}
		}
	}
}

// command runs a command from juju-run. An error is the worker's, not the command's.
func (r *running) command(ctx context.Context, c *hooks.Command) error {
	during, abort := hooks.WithAbort(ctx)
	defer abort()
	defer context.AfterFunc(c.Context, abort)()
	_, failed, err := r.run(during, c.Task())
	if errors.Is(err, hooks.ErrAbort) { // while waiting for hooks
		c.Err = err
		return nil
	} else if err != nil {
		return err
	}
	c.Failed(failed)
	return r.record.clear()
}

// run runs a task or command. failed is set if it ran and failed; err, if it did not run.
func (r *running) run(ctx context.Context, task *hooks.Task) (*hooks.Context, *hooks.FailedError, error) {
	select {
	case r.Turn <- struct{}{}:
		defer func() { <-r.Turn }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	params := r.Context()
	params.Task = task
	hctx := hooks.NewMachineContext(r.Machine.ID, params)
	err := r.runner.Run(ctx, hctx, func(p hooks.Process) error {
		return r.record.write(record{Task: task.ID, Process: &p})
	})
	var failed *hooks.FailedError
	if errors.As(err, &failed) {
		err = nil
	}
	return hctx, failed, err
}
