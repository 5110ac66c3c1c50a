package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.worker")

// A Func is a worker. It runs until ctx is cancelled, then returns promptly; the error it then returns is
// ignored unless it wraps ErrFatal. Returning nil while ctx is live means that the work is complete.
type Func func(ctx context.Context) error

// ErrFatal, wrapped in a worker's error, means that a restart can't help: the worker's set and all
// enclosing sets end.
var ErrFatal = errors.New("agent must stop")

// ErrTerminateAgent is the fatal error of an agent whose entity is Dead or removed: the agent exits and must
// not be restarted.
var ErrTerminateAgent = fmt.Errorf("%w permanently: its entity is dead or removed", ErrFatal)

// ErrReboot is the fatal error of an agent whose machine must be restarted.
var ErrReboot = fmt.Errorf("%w to restart the machine", ErrFatal)

// The backoff between restarts of a failing worker. Durations are multiples of the delay. Each pause is
// longer than the last, up to maxPause, until the worker has run for stableRun. The maximum is low because most
// workers fail while their controller is unavailable: when it returns, thousands of agents should reconnect
// within half a minute, given a delay of 3 seconds.
const (
	growth     = 1.5
	maxPause   = 8
	stableRun  = 10
	jitterPart = 0.2 // fraction of each pause, either way, so that agents that failed together don't return together
)

// Run runs the workers until all of them have ended, and returns
//   - when a worker's error wraps ErrFatal: that error, after cancelling the others and waiting
//     for them; ErrTerminateAgent takes precedence over other fatal errors;
//   - when ctx is cancelled: its cause;
//   - when every worker has returned nil: nil.
//
// A worker that fails with any other error is restarted after about delay. The pause grows
// while the worker keeps failing. That something is unavailable is logged once, and when the worker runs again.
func Run(ctx context.Context, delay time.Duration, workers map[string]Func) error {
	set, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ends := make(chan error)
	for name, f := range workers {
		go func() { ends <- keep(set, delay, name, f) }()
	}
	var worst error
	for range workers {
		err := <-ends
		if importance(err) > importance(worst) {
			worst = err
		}
		if importance(err) > 0 {
			cancel(err)
		}
	}
	if worst != nil {
		return worst
	}
	return context.Cause(ctx)
}

// keep runs f until it returns nil or a fatal error, or ctx is done. It returns only errors that wrap ErrFatal.
func keep(ctx context.Context, delay time.Duration, name string, f Func) error {
	pause := delay
	failures := failuresOf(ctx)
	defer func() { failures.recovered(name, time.Now()) }()
	named := context.WithValue(ctx, nameKey{}, name)
	var away atomic.Bool // its last failure was that something is unavailable
	for {
		began := time.Now()
		stable := time.AfterFunc(stableRun*delay, func() {
			failures.recovered(name, began)
			if away.Swap(false) {
				logger.Infof("worker %q runs again", name)
			}
		})
		err := f(named)
		stable.Stop()
		switch {
		case errors.Is(err, ErrFatal):
			logger.Infof("worker %q: %v", name, err)
			return err
		case ctx.Err() != nil:
			return nil
		case err == nil:
			logger.Debugf("worker %q is done", name)
			return nil
		}
		if time.Since(began) >= stableRun*delay {
			pause = delay
		}
		wait := jitter(pause)
		failures.failed(name, err)
		level := loggo.ERROR
		if unavailable := errors.Is(err, entity.Unavailable); away.Swap(unavailable) && unavailable {
			level = loggo.DEBUG // it fails for as long as that lasts
		}
		logger.Logf(level, "worker %q failed, restarting in %v: %v", name, wait.Round(time.Millisecond), err)
		pause = min(time.Duration(float64(pause)*growth), maxPause*delay)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + jitterPart*(2*rand.Float64()-1)))
}

func importance(err error) int {
	switch {
	case errors.Is(err, ErrTerminateAgent):
		return 2
	case errors.Is(err, ErrFatal):
		return 1
	}
	return 0
}
