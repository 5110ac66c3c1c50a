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

// errSkipCommit is returned by Execute when there is nothing to commit: the state it returns is final.
var errSkipCommit = errors.New("nothing to commit")

// commitTimeout limits how long a stopping agent tries to commit a hook that has succeeded, before it leaves
// that to the next agent. An agent that is not stopping waits as long as the controller is unavailable.
const commitTimeout = 10 * time.Second

// roomPause is the pause between attempts to write to a full disk.
const roomPause = time.Second

// An Operation changes the unit's state in three steps.
type Operation interface {
	// String describes it for logs.
	String() string
	// History returns the commit message for the charm directory's history, or "" if the operation does not
	// touch that directory.
	History() string

	Prepare(ctx context.Context, s localstate.State) (localstate.State, error)
	// Execute may call persist to write a state to disk before it continues.
	Execute(ctx context.Context, s localstate.State, persist func(localstate.State) error) (localstate.State, error)
	Commit(ctx context.Context, s localstate.State) (localstate.State, error)
}

// A Store stores the unit's state; *localstate.File implements it.
type Store interface {
	Write(localstate.State) error
}

// An Executor runs operations, one at a time.
type Executor struct {
	// Full is called with an error when a state can't be stored because the disk is full, and with nil when
	// the state is stored. It may be nil.
	Full func(ctx context.Context, err error)

	store Store
	state localstate.State
}

// NewExecutor returns the Executor of a unit whose stored state is s.
func NewExecutor(store Store, s localstate.State) *Executor { return &Executor{store: store, state: s} }

// State returns the unit's state.
func (e *Executor) State() localstate.State { return e.state }

// Run takes op through its steps. After an error, State reflects op's progress, from which the resolver decides
// how to continue.
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
	// An agent that is stopped while its hook runs must still commit it.
	ctx, cancel := lingering(ctx, commitTimeout)
	defer cancel()
	next, err = op.Commit(ctx, e.state)
	if err != nil {
		return fmt.Errorf("cannot commit %s: %w", op, err)
	}
	return e.persist(ctx, next)
}

// lingering returns a context that ends the given time after ctx does.
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

// persist stores a state. It waits while the disk is full; otherwise a successful hook would be treated as
// interrupted because its result could not be written.
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

// awaitRoom calls f until it returns anything but a disk-full error, or ctx is done. It passes the first such
// error to full.
func awaitRoom(ctx context.Context, f func() error, full func(error)) error {
	for warned := false; ; warned = true {
		err := f()
		if err == nil || !entity.IsDiskFull(err) {
			return err
		}
		if !warned {
			logger.Warningf("waiting for disk space: %v", err)
			full(err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(roomPause):
		}
	}
}
