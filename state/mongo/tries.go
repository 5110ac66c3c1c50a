package mongo

import (
	"context"
	"math/rand/v2"
	"time"
)

// patience is the default of Options.Patience. The time in line doesn't count: how long a
// line is says how many others there are, and how fast the store is, not that there is no
// end. It is much less than the API's bound of a request.
const patience = 30 * time.Second

const (
	// leastTries is how often a change is tried however long that takes. A process or a
	// disk that stands still for a while can spend all of the patience on one try.
	leastTries = 5

	pauseLeast = time.Millisecond
	pauseMost  = 200 * time.Millisecond
)

// Tries bounds how long a change is tried that others keep getting ahead of. It goes by
// the monotonic clock.
type Tries struct {
	began    time.Time
	waited   time.Duration // in line, for documents or a slot
	patience time.Duration
	tries    int
}

// Tries begins to count, for what is not a transaction but is tried for as long as one.
func (r *Runner) Tries() Tries {
	return Tries{began: time.Now(), patience: r.patience}
}

// Next reports whether to try, at first or again.
func (t *Tries) Next() bool {
	if t.tries >= leastTries && time.Since(t.began)-t.waited >= t.patience {
		return false
	}
	t.tries++
	return true
}

// Pause waits before the next try, for longer the more there have been. It returns the
// cause when the context ends.
func (t *Tries) Pause(ctx context.Context) error { return Sleep(ctx, pause(t.tries)) }

func pause(attempt int) time.Duration {
	most := min(pauseMost, pauseLeast<<min(attempt+1, 10))
	return pauseLeast + rand.N(most)
}

// Sleep waits, and returns the cause when the context ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
