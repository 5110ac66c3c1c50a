package uniter

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// The initial and the maximum pause before a failed hook is retried automatically.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// A retry schedules the automatic retries of a failed hook, if the model's settings enable them. A restart of
// the agent resets it.
type retry struct {
	attempts int       // failed retries since the hook was resolved or the agent started
	due      time.Time // zero if nothing is scheduled
}

// pause returns the time until the next attempt. Pauses double up to lastRetry.
func (r retry) pause() time.Duration {
	pause := firstRetry
	for range r.attempts {
		pause = min(2*pause, lastRetry)
	}
	return min(newJitter().of(pause), lastRetry)
}

// A jitter is a random factor between 0.8 and 1.2 for pauses, so that units that act simultaneously drift apart.
type jitter float64

func newJitter() jitter { return jitter(0.8 + 0.4*rand.Float64()) }

func (j jitter) of(pause time.Duration) time.Duration {
	return time.Duration(float64(j) * float64(pause))
}

// after returns the retry after an operation, given the unit's state after it.
func (r retry) after(op resolver.Op, s localstate.State) retry {
	switch {
	case s.FailedHook() == nil || op.Resolved:
		return retry{}
	case op.Retried:
		return retry{attempts: r.attempts + 1}
	}
	return r
}

// awaitRetry waits until something changes or the failed hook's retry is due.
func (u *uniter) awaitRetry(ctx context.Context) error {
	failed := u.executor.State().FailedHook()
	if failed == nil || !u.remote.config.RetryHooks() {
		u.retry.due = time.Time{}
		return u.remote.wait(ctx, nil)
	}
	if u.retry.due.IsZero() {
		pause := u.retry.pause()
		u.retry.due = time.Now().Add(pause)
		logger.Infof("unit %s: retrying hook %q in %v", u.Unit.ID, failed.Name,
			pause.Round(time.Second))
	}
	err := u.waitUntil(ctx, u.retry.due)
	if errors.Is(err, errTimeout) {
		u.remote.snapshot.RetryDue = true
		return nil
	}
	return err
}
