package uniter

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"juju/state/entity"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/resolver"
)

// retryAPI is what a remote reads and watches of the model's settings.
type retryAPI interface {
	// RetryStrategy reports whether hooks that fail in the unit's model run again by
	// themselves.
	RetryStrategy(ctx context.Context, unit entity.Tag) (bool, error)
	// WatchRetryStrategy fires when that may have changed.
	WatchRetryStrategy(ctx context.Context, unit entity.Tag) (<-chan struct{}, error)
}

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
// one before, give or take a fifth, so that units that fail together don't retry together.
func (r retry) pause() time.Duration {
	pause := firstRetry
	for range r.attempts {
		pause = min(2*pause, lastRetry)
	}
	return min(time.Duration(float64(pause)*(0.8+0.4*rand.Float64())), lastRetry)
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
	wanted, err := u.remote.wantsRetries(ctx)
	if err != nil {
		return err
	}
	if !wanted {
		u.retry.due = time.Time{}
		return u.remote.wait(ctx, nil)
	}
	if u.retry.due.IsZero() {
		pause := u.retry.pause()
		u.retry.due = time.Now().Add(pause)
		logger.Infof("unit %s: hook %q runs again in %v", u.Unit.ID, u.executor.State().FailedHook().Name,
			pause.Round(time.Second))
	}
	timer := time.NewTimer(time.Until(u.retry.due))
	defer timer.Stop()
	err = u.remote.wait(ctx, timer.C)
	if errors.Is(err, errTimeout) {
		u.remote.snapshot.RetryDue = true
		return nil
	}
	return err
}

// wantsRetries reports whether failed hooks run again by themselves in the unit's model. The
// setting is watched only while a hook has failed, since most units never need it.
func (r *remote) wantsRetries(ctx context.Context) (bool, error) {
	if r.retries == nil {
		ctx, cancel := context.WithCancel(r.ctx)
		events, err := r.api.WatchRetryStrategy(ctx, r.unit)
		if err != nil {
			cancel()
			return false, ofUnit(err)
		}
		r.retries, r.endRetries, r.retriesStale = events, cancel, true
	}
	if r.retriesStale {
		wanted, err := r.api.RetryStrategy(ctx, r.unit)
		if err != nil {
			return false, ofUnit(err)
		}
		r.retryHooks, r.retriesStale = wanted, false
	}
	return r.retryHooks, nil
}

// forgetRetries ends the watch of that setting.
func (r *remote) forgetRetries() {
	if r.retries != nil {
		r.endRetries()
		r.retries = nil
	}
}
