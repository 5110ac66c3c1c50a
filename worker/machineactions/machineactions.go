package machineactions

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/juju/loggo"
	"golang.org/x/sync/semaphore"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.machineactions")

// AtOnce is how many of a machine's commands can run at once.
const AtOnce = 100

// Config is what the worker needs.
type Config struct {
	API     API
	Machine entity.Tag
	Hooks   hooks.RunnerParams // where commands run
	// Room is a semaphore of size AtOnce. A command holds 1 of it while it runs; who holds all of it keeps others from
	// beginning.
	Room *semaphore.Weighted
	// Context returns the current parameters that the environments of all commands share.
	Context func() hooks.ContextParams
}

// New returns the worker of one machine. When its context ends, it begins no other command, and lets those that run
// finish, however long that takes.
func New(config Config) worker.Func {
	return func(ctx context.Context) error {
		if err := os.MkdirAll(config.Hooks.RunDir, 0o700); err != nil {
			return fmt.Errorf("cannot create the directory of the machine's commands: %w", err)
		}
		places, err := openPlaces(config.Hooks)
		if err != nil {
			return err
		}
		defer places.close()
		commands, end := hooks.ServeCommands(config.Hooks.RunDir, func(err error) { logger.Errorf("%v", err) })
		defer end()
		r := &running{Config: config, places: places, commands: commands, ended: make(chan *job, AtOnce)}
		defer func() {
			for _, end := range r.unwatch {
				end()
			}
		}()
		return r.drain(ctx, r.loop(ctx))
	}
}

// The fields of running are owned by its loop.
type running struct {
	Config
	places   *places
	commands <-chan *hooks.Command
	events   <-chan struct{}
	unwatch  []func() // ends the watches
	jobs     []*job
	ended    chan *job // those that have ended
	waits    sync.WaitGroup
}

func (r *running) loop(ctx context.Context) (err error) {
	if err := r.recover(ctx); err != nil {
		return err
	}
	if err := r.watch(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, ok := <-r.events:
			switch {
			case ok:
			case len(r.jobs) == 0:
				return worker.Ended(ctx)
			default: // a restart of the worker would wait for those that run
				err = r.watch(ctx)
			}
		case command := <-r.acceptable():
			r.command(ctx, command)
		case j := <-r.ended:
			err = r.remove(j)
		}
		if err == nil {
			err = r.tasks(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// watch begins to watch the machine's tasks. The watch outlives ctx, because a command that does must still be
// cancellable. But beginning it may block on the controller, which a stopping agent must not wait for.
func (r *running) watch(ctx context.Context) error {
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	r.unwatch = append(r.unwatch, end)
	defer context.AfterFunc(ctx, end)()
	events, err := r.API.WatchTasks(watching, r.Machine)
	if err == nil {
		r.events = events
	}
	return err
}

// drain waits for the commands that run, which users can still cancel, and returns the reason why the loop has ended.
func (r *running) drain(ctx context.Context, reason error) error {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx)) // which no request outlives: the controller may be away
	defer end()
	go func() {
		r.waits.Wait()
		end()
	}()
	look := func() {
		if tasks, err := r.API.Tasks(ctx, r.Machine); err == nil {
			r.cancel(tasks)
		}
	}
	if len(r.jobs) > 0 { // the loop may have taken an event, and ended before it looked
		look()
	}
	for len(r.jobs) > 0 {
		select {
		case j := <-r.ended:
			if err := r.remove(j); err != nil {
				logger.Errorf("%v", err)
			}
		case _, ok := <-r.events:
			if !ok {
				var err error
				if r.events, err = r.API.WatchTasks(ctx, r.Machine); err != nil {
					r.events = nil
				}
			} else {
				look()
			}
		}
	}
	return reason
}

// recover stops the commands that a previous agent left running, and reports their outcomes.
func (r *running) recover(ctx context.Context) error {
	for _, p := range r.places.free {
		left, err := p.record.read()
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
		if err := p.record.clear(); err != nil {
			return err
		}
	}
	return nil
}

// oneByOne is the lane of commands that wait for the machine's hooks.
const oneByOne = "one by one"

// laneOf returns the lane of a task. Those of one lane run one after another, in order; "" is no lane.
func laneOf(t entity.MachineTask) string {
	switch {
	case t.Group != "":
		return "group " + t.Group
	case t.Parallel:
		return ""
	}
	return oneByOne
}

// tasks begins the pending tasks that need not wait for one that runs or is older, and cancels those that users have
// cancelled.
func (r *running) tasks(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	tasks, err := r.API.Tasks(ctx, r.Machine)
	if err != nil {
		return err
	}
	r.cancel(tasks)
	busy := map[string]bool{}
	for _, j := range r.jobs {
		busy[j.lane] = true
	}
	for _, t := range tasks {
		lane := laneOf(t)
		switch {
		case r.runs(t.ID):
		case t.Status != entity.TaskPending: // its agent or its machine was lost while it ran
			if err := r.API.FinishTask(ctx, r.Machine, t.ID, entity.TaskTerminated); err != nil {
				return err
			}
		case len(r.jobs) == AtOnce || lane != "" && busy[lane]:
		default:
			busy[lane] = true
			err := r.begin(ctx, &job{task: t.ID, lane: lane, do: func(ctx context.Context, p *place) error {
				return r.task(ctx, p, t.ID)
			}})
			if err != nil { // another place gets free
				logger.Warningf("task %s waits: %v", t.ID, err)
			}
		}
	}
	return nil
}

// runs reports whether a task runs, or is about to.
func (r *running) runs(task string) bool {
	return slices.ContainsFunc(r.jobs, func(j *job) bool { return j.task == task })
}

// cancel ends the tasks that are not among the unfinished ones any more, or are to be aborted.
func (r *running) cancel(unfinished []entity.MachineTask) {
	for _, j := range r.jobs {
		if j.task != "" && !slices.ContainsFunc(unfinished, func(t entity.MachineTask) bool {
			return t.ID == j.task && t.Status != entity.TaskAborting
		}) {
			j.abort()
		}
	}
}

// acceptable returns the channel of commands from juju-run, or nil while none can begin. They wait for the machine's hooks.
func (r *running) acceptable() <-chan *hooks.Command {
	if len(r.jobs) == AtOnce || slices.ContainsFunc(r.jobs, func(j *job) bool { return j.lane == oneByOne }) {
		return nil
	}
	return r.commands
}

// command begins a command from juju-run.
func (r *running) command(ctx context.Context, c *hooks.Command) {
	err := r.begin(ctx, &job{lane: oneByOne, do: func(ctx context.Context, p *place) error {
		defer c.End()
		return r.typed(ctx, p, c)
	}})
	if err != nil {
		c.Err = err
		c.End()
	}
}
