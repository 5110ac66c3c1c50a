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

// errSkipCommit is returned by Execute when there is nothing to commit: the state is that after the
// commit.
var errSkipCommit = errors.New("nothing to commit")

// commitTimeout limits how long an agent that is told to stop tries to commit a hook that
// has succeeded. After that the commit is left to the next agent. An agent that is not told
// to stop waits as long as the controller is away.
const commitTimeout = 10 * time.Second

// roomPause is how often to try again to write to a full disk.
const roomPause = time.Second

// An Operation is a change of the unit's state, in three steps.
type Operation interface {
	// String describes it for logs.
	String() string
	// History is the message for the history of the charm directory, or "" if the operation
	// does not touch that directory.
	History() string

	Prepare(ctx context.Context, s localstate.State) (localstate.State, error)
	// Execute may call persist to write a state to disk before it continues.
	Execute(ctx context.Context, s localstate.State, persist func(localstate.State) error) (localstate.State, error)
	Commit(ctx context.Context, s localstate.State) (localstate.State, error)
}

// A Store keeps the unit's state; *localstate.File is one.
type Store interface {
	Write(localstate.State) error
}

// An Executor runs operations, one at a time.
type Executor struct {
	// Full, unless it is nil, is called when a state can't be stored because the disk is full, and with nil when
	// that has passed.
	Full func(ctx context.Context, err error)

	store Store
	state localstate.State
}

// NewExecutor returns the Executor of a unit whose state, as stored, is s.
func NewExecutor(store Store, s localstate.State) *Executor { return &Executor{store: store, state: s} }

// State returns the unit's state.
func (e *Executor) State() localstate.State { return e.state }

// Run takes op through its steps. After an error State says how far it came, and the
// resolver knows what to do next.
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
		committed := errors.Is(err, errSkipCommit)
		if err != nil && !committed {
			return fmt.Errorf("cannot %s: %w", op, err)
		}
		if err := e.persist(ctx, next); err != nil || committed {
			return err
		}
	}
	if e.state.Failed() != nil {
		return nil
	}
	// An agent that is told to stop while its hook runs must still commit it.
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

// persist stores a state. It waits while the disk is full: otherwise a hook that has run
// would count as interrupted, and fail, because a few bytes could not be written.
func (e *Executor) persist(ctx context.Context, s localstate.State) error {
	waits := false
	err := awaitRoom(ctx, func() error { return e.store.Write(s) }, func(err error) {
		waits = true
		if e.Full != nil {
			e.Full(ctx, err)
		}
	})
	if err == nil {
		e.state = s
		if waits && e.Full != nil {
			e.Full(ctx, nil)
		}
	}
	return err
}

// awaitRoom calls f until it fails for another reason than a full disk, or ctx is done. It calls full with the first
// such error.
func awaitRoom(ctx context.Context, f func() error, full func(error)) error {
	for told := false; ; told = true {
		err := f()
		if err == nil || !entity.IsDiskFull(err) {
			return err
		}
		if !told {
			logger.Warningf("waiting for room on the disk: %v", err)
			full(err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(roomPause):
		}
	}
}
