package worker

import (
	"context"
	"errors"
	"time"
)

// ErrWatchEnded is returned by a worker whose watch was closed by the controller or by the loss of the
// connection.
var ErrWatchEnded = errors.New("watch ended")

// Notify starts a watch and calls handle for each of its events, one at a time. It returns the reason it
// ended: ctx is done, the watch has ended, or handle has failed.
func Notify(ctx context.Context, watch func(context.Context) (<-chan struct{}, error),
	handle func(context.Context) error) error {
	return each(ctx, watch, func(ctx context.Context, _ struct{}) error { return handle(ctx) })
}

// NotifyAgain is Notify for work that may need to continue without an event: if handle returns a
// positive duration, it is called again after that time even if no event arrives.
func NotifyAgain(ctx context.Context, watch func(context.Context) (<-chan struct{}, error),
	handle func(context.Context) (again time.Duration, err error)) error {
	return NotifySteps(ctx, watch, nil, func(struct{}) error { return nil },
		func(ctx context.Context, _ bool) (time.Duration, error) { return handle(ctx) })
}

// NotifySteps is NotifyAgain for a worker that works in goroutines, whose ends come from done: each is given to ended, and then
// handle is called, once for all that have ended meanwhile. news tells handle whether the watch has fired.
func NotifySteps[S any](ctx context.Context, watch func(context.Context) (<-chan struct{}, error), done <-chan S,
	ended func(S) error, handle func(ctx context.Context, news bool) (again time.Duration, err error)) error {
	events, err := watch(ctx)
	if err != nil {
		return err
	}
	var again <-chan time.Time
	for {
		news := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, ok := <-events:
			if !ok {
				return Ended(ctx)
			}
			news = true
		case step := <-done:
			if err := ended(step); err != nil {
				return err
			}
		case <-again:
		}
		for len(done) > 0 {
			if err := ended(<-done); err != nil {
				return err
			}
		}
		pause, err := handle(ctx, news)
		if err != nil {
			return err
		}
		again = nil
		if pause > 0 {
			again = time.After(pause)
		}
	}
}

// Strings is Notify for a watch whose events name what changed.
func Strings(ctx context.Context, watch func(context.Context) (<-chan []string, error),
	handle func(ctx context.Context, ids []string) error) error {
	return each(ctx, watch, handle)
}

func each[T any](ctx context.Context, watch func(context.Context) (<-chan T, error),
	handle func(context.Context, T) error) error {
	events, err := watch(ctx)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, ok := <-events:
			if !ok {
				return Ended(ctx)
			}
			if err := handle(ctx, event); err != nil {
				return err
			}
		}
	}
}

// Ended returns the error for a watch whose channel was closed: the cause of ctx if ctx is
// done, ErrWatchEnded otherwise.
func Ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrWatchEnded
}

// Every calls do immediately, and again each time period has elapsed since it returned. It stops when ctx is
// done or do fails, and returns the reason. It is for periodic work that no event triggers.
func Every(ctx context.Context, period time.Duration, do func(context.Context) error) error {
	for {
		if err := do(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(period)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
