package worker

import (
	"context"
	"errors"
	"time"
)

// ErrWatchEnded is what a worker fails with when a watch that it relies on has
// ended though nobody told it to: the connection is gone, or the watched thing.
var ErrWatchEnded = errors.New("watch ended")

// Notify starts a watch and calls handle for each of its events, one at a time,
// until ctx ends, the watch does, or handle fails; it returns why.
func Notify(ctx context.Context, watch func(context.Context) (<-chan struct{}, error), handle func(context.Context) error) error {
	return each(ctx, watch, func(ctx context.Context, _ struct{}) error { return handle(ctx) })
}

// Strings is Notify for watches that name what changed.
func Strings(ctx context.Context, watch func(context.Context) (<-chan []string, error), handle func(ctx context.Context, ids []string) error) error {
	return each(ctx, watch, handle)
}

func each[T any](ctx context.Context, watch func(context.Context) (<-chan T, error), handle func(context.Context, T) error) error {
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

// Ended is the error to return when a watch's channel was found closed: the cause
// of ctx's end if it has ended, ErrWatchEnded otherwise.
func Ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrWatchEnded
}

// Every calls do once at the start and then each time that long after it has
// returned, until ctx ends or do fails; it returns why. It is for duties that
// nothing announces.
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
