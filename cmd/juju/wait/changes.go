package wait

import (
	"context"
	"time"

	"juju/state/entity"
	"juju/state/entity/backoff"
	"juju/state/modelconfig"
)

// The minimum time between reads of a model. It doubles with each read, from MinGap up to MaxGap.
const (
	MinGap = 100 * time.Millisecond
	MaxGap = 500 * time.Millisecond
)

type watchStatusAPI interface {
	WatchStatus(ctx context.Context) (<-chan struct{}, error)
}

// A watchFunc starts a watch, whose first event comes at once.
type watchFunc func(ctx context.Context) (<-chan struct{}, error)

// Changes tells a waiting command when to read the model again: when its status changes, with changes merged so that a
// busy model is read no more often than if it were polled.
type Changes struct {
	ctx    context.Context // of the watch
	watch  watchFunc
	reread time.Duration // Next also returns after this time; 0 for never

	events <-chan struct{} // nil while there is no watch
	gap    time.Duration
}

// WatchChanges returns the changes that a watch reports until ctx ends.
func WatchChanges(ctx context.Context, watch watchFunc, reread time.Duration) *Changes {
	return &Changes{ctx: ctx, watch: watch, reread: reread}
}

// Next returns when the model may have changed since the caller last read it, or when ctx ends. It also returns when the
// watch fails or ends: the caller's next read returns the reason, and the next call starts another watch.
func (c *Changes) Next(ctx context.Context) {
	c.gap = min(max(MinGap, 2*c.gap), MaxGap)
	if backoff.Sleep(ctx, c.gap) != nil {
		return
	}
	if c.events == nil {
		// The call ends with ctx, and the watch with c.ctx.
		watching, cancel := context.WithCancel(c.ctx)
		stop := context.AfterFunc(ctx, cancel)
		var err error
		// The first event covers changes since the last read.
		c.events, err = c.watch(watching)
		if stop(); err != nil {
			cancel()
			c.events = nil
			return
		}
	}
	var reread <-chan time.Time
	if c.reread > 0 {
		reread = time.After(c.reread)
	}
	select {
	case <-ctx.Done():
	case <-reread:
	case _, open := <-c.events:
		if !open {
			c.events = nil
		}
	}
}

// Bounded returns a context that ends after bound, but not before nothing has moved for still. The caller calls moved when
// something has, and cancel at the end.
func Bounded(ctx context.Context, bound, still time.Duration) (_ context.Context, moved, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	until := time.Now().Add(bound)
	clock := time.AfterFunc(bound, func() { end(context.DeadlineExceeded) })
	return ctx, func() {
			if later := time.Now().Add(still); later.After(until) {
				until = later
				clock.Reset(still)
			}
		}, func() {
			clock.Stop()
			end(nil)
		}
}

type StatusAPI interface {
	watchStatusAPI
	Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
	ModelConfig(ctx context.Context) (modelconfig.Config, error)
}
