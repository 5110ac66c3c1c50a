package wait

import (
	"context"
	"time"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// The least time between two reads of a model that a command waits for. It doubles with each
// read, from minGap up to maxGap.
const (
	MinGap = 100 * time.Millisecond
	MaxGap = 500 * time.Millisecond
)

type watchStatusAPI interface {
	WatchStatus(ctx context.Context) (<-chan struct{}, error)
}

// A watchFunc begins a watch, whose first event comes at once.
type watchFunc func(ctx context.Context) (<-chan struct{}, error)

// Changes tells a command that waits when to read the model again. On a quiet model
// that is when its status changes; on a busy one, changes merge, and the model is read
// no more often than if it were polled.
type Changes struct {
	ctx    context.Context // of the watch
	watch  watchFunc
	reread time.Duration // also return from next after this time; 0 for never

	events <-chan struct{} // nil while there is no watch
	gap    time.Duration
}

// WatchChanges returns the changes that a watch reports until ctx ends.
func WatchChanges(ctx context.Context, watch watchFunc, reread time.Duration) *Changes {
	return &Changes{ctx: ctx, watch: watch, reread: reread}
}

// Next returns when the model may have changed since the caller last read it, or when
// ctx ends. It also returns when the watch has failed or ended: the caller's next read
// then tells why, and the next call begins another watch.
func (c *Changes) Next(ctx context.Context) {
	c.gap = min(max(MinGap, 2*c.gap), MaxGap)
	if !Sleep(ctx, c.gap) {
		return
	}
	if c.events == nil {
		// The call ends with ctx, and the watch with c.ctx.
		watching, cancel := context.WithCancel(c.ctx)
		stop := context.AfterFunc(ctx, cancel)
		var err error
		// Because of the first event, a change since the last read is not missed.
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

// Sleep waits for a time; it returns false at once when ctx ends.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// A StatusAPI is what waiting for a model calls.
type StatusAPI interface {
	watchStatusAPI
	Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
	ModelConfig(ctx context.Context) (modelconfig.Config, error)
}
