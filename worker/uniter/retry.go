package uniter

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// The first and the longest pause before a failed hook runs again by itself.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// A retry says when a failed hook runs again by itself, if the model's settings say that it
// does. After a restart of the agent the pauses are short again.
type retry struct {
	attempts int       // failed ones since the hook was resolved or the agent started
	due      time.Time // zero if nothing is due
}

// pause returns how long to wait before the next attempt. Each pause is twice as long as the
// one before.
func (r retry) pause() time.Duration {
	pause := firstRetry
	for range r.attempts {
		pause = min(2*pause, lastRetry)
	}
	return min(newJitter().of(pause), lastRetry)
}

// A jitter makes a pause shorter or longer, by a fifth at most, so that units that do something
// at the same time don't do it at the same time again.
type jitter float64

func newJitter() jitter { return jitter(0.8 + 0.4*rand.Float64()) }

func (j jitter) of(pause time.Duration) time.Duration {
	return time.Duration(float64(j) * float64(pause))
}

// after returns the retry after an operation. s is the unit's state then.
func (r retry) after(op resolver.Op, s localstate.State) retry {
	switch {
	case s.FailedHook() == nil || op.Resolved:
		return retry{}
	case op.Retried:
		return retry{attempts: r.attempts + 1}
	}
	return r
}

// awaitRetry waits until something changes, or until the failed hook should run again.
func (u *uniter) awaitRetry(ctx context.Context) error {
	failed := u.executor.State().FailedHook()
	if failed == nil || !u.remote.config.RetryHooks() {
		u.retry.due = time.Time{}
		return u.remote.wait(ctx, nil)
	}
	if u.retry.due.IsZero() {
		pause := u.retry.pause()
		u.retry.due = time.Now().Add(pause)
		logger.Infof("unit %s: hook %q runs again in %v", u.Unit.ID, failed.Name,
			pause.Round(time.Second))
	}
	err := u.waitUntil(ctx, u.retry.due)
	if errors.Is(err, errTimeout) {
		u.remote.snapshot.RetryDue = true
		return nil
	}
	return err
}
