// Package backoff has the pauses between attempts, for the few cases in which no event says when the next one may succeed.
package backoff

import (
	"context"
	"time"
)

// Sleep waits for d. If ctx ends first, or has ended, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// A Backoff is a series of pauses, each twice as long as the one before, up to the longest.
type Backoff struct{ first, longest, next time.Duration }

// New returns the pauses from the first to the longest.
func New(first, longest time.Duration) *Backoff { return &Backoff{first, longest, first} }

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	d := b.next
	b.next = min(2*d, b.longest)
	return d
}

// Sleep waits for the next pause. If ctx ends first, it returns the cause.
func (b *Backoff) Sleep(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Reset has the next pause be the first again.
func (b *Backoff) Reset() { b.next = b.first }
