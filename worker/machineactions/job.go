package machineactions

import (
	"context"
	"errors"
	"slices"

	"juju/hooks"
	"juju/state/entity"
)

// A job is a command that runs or is about to.
type job struct {
	task  string // "" for a command from juju-run
	lane  string // "" for none
	do    func(context.Context, *place) error
	place *place
	abort func()
	err   error // the worker's, not the command's
}

// begin starts a job in a goroutine, which sends it to ended. It fails if the job has no place to run.
func (r *running) begin(ctx context.Context, j *job) (err error) {
	if j.place, err = r.places.take(); err != nil {
		return err
	}
	ctx, j.abort = hooks.WithAbort(ctx)
	r.jobs = append(r.jobs, j)
	r.waits.Go(func() {
		j.err = j.do(ctx, j.place)
		r.ended <- j
	})
	return nil
}

// remove frees the place of a job that has ended, and returns its error.
func (r *running) remove(j *job) error {
	j.abort()
	r.jobs = slices.DeleteFunc(r.jobs, func(other *job) bool { return other == j })
	r.places.free = append(r.places.free, j.place)
	return j.err
}

// task runs a task and reports its outcome. If none may begin until ctx is done, the task stays pending.
func (r *running) task(ctx context.Context, p *place, id string) error {
	if err := r.Room.Acquire(ctx, 1); err != nil {
		return nil
	}
	defer r.Room.Release(1)
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
	outcome := entity.TaskTerminated
	hctx, failed, err := r.run(ctx, p, task)
	switch {
	case entity.IsDiskFull(err):
		outcome = entity.TaskOutcome{Status: entity.TaskFailed, Message: err.Error()}
	case errors.Is(err, hooks.ErrAbort): // while waiting for hooks
		outcome = entity.TaskOutcome{Status: entity.TaskAborted, Message: "aborted"}
	case err != nil && ctx.Err() != nil: // it has not run, because the agent stops
	case err == nil:
		if outcome, err = hctx.Outcome(failed); err != nil {
			return err
		}
	default:
		return err
	}
	// From here on the task has ended, even if ctx is done.
	if err := p.record.write(record{Task: id, Outcome: &outcome}); entity.IsDiskFull(err) {
		logger.Warningf("%v", err) // the record matters only if the agent is killed before it reports the outcome
	} else if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := r.API.FinishTask(ctx, r.Machine, id, outcome); err != nil {
		return err
	}
	return p.record.clear()
}

// typed runs a command from juju-run. An error is the worker's, not the command's.
func (r *running) typed(ctx context.Context, p *place, c *hooks.Command) error {
	if c.Err = r.Room.Acquire(ctx, 1); c.Err != nil {
		c.Err = context.Cause(ctx)
		return nil
	}
	defer r.Room.Release(1)
	ctx, abort := hooks.WithAbort(ctx)
	defer abort()
	defer context.AfterFunc(c.Context, abort)()
	var err error
	var failed *hooks.FailedError
	if _, failed, err = r.run(ctx, p, c.Task()); err == nil {
		c.Failed(failed)
		return p.record.clear()
	}
	c.Err = err
	if errors.Is(err, hooks.ErrAbort) { // while waiting for hooks
		return nil
	}
	return err
}

// run runs a task or command. failed is set if it ran and failed; err, if it did not run.
func (r *running) run(ctx context.Context, p *place, task *hooks.Task) (*hooks.Context, *hooks.FailedError, error) {
	params := r.Context()
	params.Task = task
	hctx := hooks.NewMachineContext(r.Machine.ID, params)
	err := p.runner.Run(ctx, hctx, func(process hooks.Process) error {
		return p.record.write(record{Task: task.ID, Process: &process})
	})
	var failed *hooks.FailedError
	if errors.As(err, &failed) {
		err = nil
	}
	return hctx, failed, err
}
