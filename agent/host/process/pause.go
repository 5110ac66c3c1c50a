package process

import (
	"context"
	"time"
)

// pause is an exponentially growing wait, for the few cases without an event to wait for.
type pause struct{ next, max time.Duration }

func newPause(first, max time.Duration) *pause { return &pause{first, max} }

func (p *pause) wait(ctx context.Context) error {
	d := p.next
	p.next = min(2*d, p.max)
	return wait(ctx, d)
}

// wait returns nil after d, or ctx's error if ctx is done first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
