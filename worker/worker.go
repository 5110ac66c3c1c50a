package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/juju/loggo"
)

var logger = loggo.GetLogger("juju.worker")

// A Func is a worker. It works until ctx is cancelled, and then returns soon; what
// it returns then is of no interest, unless it wraps ErrFatal. To return nil while
// ctx lives says that the work is done for good.
type Func func(ctx context.Context) error

// ErrFatal, wrapped by a worker's error, says that no restart can help: the set that
// the worker is in ends, and whatever that set is in.
var ErrFatal = errors.New("agent must stop")

// ErrTerminateAgent is the fatal error of an agent whose entity is Dead or gone:
// the agent ends and nobody may start it again.
var ErrTerminateAgent = fmt.Errorf("%w for good: what it works for is dead or gone", ErrFatal)

// Of a failing worker's pauses, in multiples of the delay it was given: each is
// longer than the one before, up to a bound, until it has held for a while. The bound is
// low because what most workers fail for is a controller that is away: when that is back
// its thousands of agents should be too, within half a minute if the delay is 3 seconds.
const (
	growth     = 1.5
	longest    = 8
	heldLong   = 10
	jitterPart = 0.2 // of each pause, to either side: agents that fail together must not return together
)

// Run runs the workers until all of them have ended, and returns
//   - when a worker's error wraps ErrFatal: that error, after the others were
//     cancelled and have ended; of several the most important, which is
//     ErrTerminateAgent before any other;
//   - when ctx is cancelled: its cause;
//   - when every worker has returned nil: nil.
//
// A worker that fails with any other error is started anew after about delay, which
// grows while it fails again and again.
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

// keep runs f again and again until it is done, fails for good, or ctx ends. Only
// an error that wraps ErrFatal is returned.
func keep(ctx context.Context, delay time.Duration, name string, f Func) error {
	pause := delay
	troubles := troublesOf(ctx)
	defer troubles.well(name)
	for {
		began := time.Now()
		held := time.AfterFunc(heldLong*delay, func() { troubles.well(name) })
		err := f(ctx)
		held.Stop()
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
		if time.Since(began) >= heldLong*delay {
			pause = delay
		}
		wait := jitter(pause)
		troubles.failed(name, err)
		logger.Errorf("worker %q failed, starts again in %v: %v", name, wait.Round(time.Millisecond), err)
		pause = min(time.Duration(float64(pause)*growth), longest*delay)
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
