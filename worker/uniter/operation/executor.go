package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

var logger = loggo.GetLogger("juju.worker.uniter.operation")

// errSkipExecute is returned by Prepare when there is nothing to execute.
var errSkipExecute = errors.New("nothing to execute")

// commitTimeout bounds what is left to do once an agent is told to stop: to commit a
// hook that has succeeded. What takes longer is done by the next agent. An agent that is
// not told to stop waits for a controller that is away as for anything else.
const commitTimeout = 10 * time.Second

// roomPause is how long to wait between looks whether a full disk has room again.
const roomPause = time.Second

// An Operation is a change of the unit's state, in three steps.
type Operation interface {
	// String describes it for logs.
	String() string
	// History is the message under which the charm directory's history records it, or
	// "" if it doesn't touch that.
	History() string

	Prepare(ctx context.Context, s localstate.State) (localstate.State, error)
	// Execute may call persist to put a state on disk before it goes on.
	Execute(ctx context.Context, s localstate.State, persist func(localstate.State) error) (localstate.State, error)
	Commit(ctx context.Context, s localstate.State) (localstate.State, error)
}

// A Store keeps the unit's state; *localstate.File is one.
type Store interface {
	Write(localstate.State) error
}

// An Executor runs operations, one at a time.
type Executor struct {
	store Store
	state localstate.State
}

// NewExecutor returns the Executor of a unit whose state is s, as store has it.
func NewExecutor(store Store, s localstate.State) *Executor { return &Executor{store, s} }

// State returns the unit's state.
func (e *Executor) State() localstate.State { return e.state }

// Run takes op through its steps. After an error the operation is where State says:
// the resolver knows how to go on from there.
func (e *Executor) Run(ctx context.Context, op Operation) error {
	next, err := op.Prepare(ctx, e.state)
	skip := errors.Is(err, errSkipExecute)
	if err != nil && !skip {
		return fmt.Errorf("cannot prepare to %s: %w", op, err)
	}
	if err := e.persist(ctx, next); err != nil {
		return err
	}
	if !skip {
		next, err = op.Execute(ctx, e.state, func(s localstate.State) error { return e.persist(ctx, s) })
		if err != nil {
			return fmt.Errorf("cannot %s: %w", op, err)
		}
		if err := e.persist(ctx, next); err != nil {
			return err
		}
	}
	if e.state.FailedHook() != nil {
		return nil
	}
	// An agent that is told to stop while its hook runs still has this to do.
	ctx, cancel := lingering(ctx, commitTimeout)
	defer cancel()
	next, err = op.Commit(ctx, e.state)
	if err != nil {
		return fmt.Errorf("cannot commit %s: %w", op, err)
	}
	return e.persist(ctx, next)
}

// lingering returns a context that ends some time after ctx does.
func lingering(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	lingers, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-lingers.Done():
		}
	})
	return lingers, func() {
		stop()
		cancel(nil)
	}
}

// persist has the store write a state. It waits while the disk is full: a hook that has
// run would otherwise count as interrupted, and fail, for want of a few bytes.
func (e *Executor) persist(ctx context.Context, s localstate.State) error {
	for told := false; ; told = true {
		err := e.store.Write(s)
		if err == nil {
			e.state = s
			return nil
		}
		if !entity.IsDiskFull(err) {
			return err
		}
		if !told {
			logger.Warningf("waiting for room on the disk: %v", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(roomPause):
		}
	}
}
