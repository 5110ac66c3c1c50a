package mongo

import (
	"context"
	"math/rand/v2"
	"time"
)

// patience is the default of Options.Patience. The time in line doesn't count: the length of a
// line depends on the number of callers and the speed of the store, and doesn't mean that it
// never ends. It is much less than the API's bound of a request.
const patience = 30 * time.Second

const (
	// minTries is how often a change is attempted however long that takes. A process or a disk
	// that stalls can spend all of the patience on one attempt.
	minTries = 5

	minPause = time.Millisecond
	maxPause = 200 * time.Millisecond
)

// Tries bounds the attempts at a change while others keep changing its facts. It uses the
// monotonic clock.
type Tries struct {
	began    time.Time
	waited   time.Duration // in line, for documents or a slot
	patience time.Duration
	tries    int
}

// Tries starts counting, for work outside transactions that is attempted for as long as one.
func (r *Runner) Tries() Tries {
	return Tries{began: time.Now(), patience: r.patience}
}

// Next reports whether to make a first or another attempt.
func (t *Tries) Next() bool {
	if t.tries >= minTries && time.Since(t.began)-t.waited >= t.patience {
		return false
	}
	t.tries++
	return true
}

// Pause waits before the next attempt, longer after more attempts. It returns the cause when the
// context ends.
func (t *Tries) Pause(ctx context.Context) error { return Sleep(ctx, pause(t.tries)) }

func pause(attempt int) time.Duration {
	limit := min(maxPause, minPause<<min(attempt+1, 10))
	return minPause + rand.N(limit)
}

// Sleep waits for d, or returns the cause when ctx ends first.
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
