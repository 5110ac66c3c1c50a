package mongo

import (
	"context"
	"time"

	"juju/state/mongo/outage"
)

// patience is the default of Options.Patience. Time spent in queues is not included: it depends on the number
// of callers and the speed of the store, and doesn't mean that the change will never succeed. patience is
// much shorter than the API's request timeout.
const patience = 30 * time.Second

// minTries is the minimum number of attempts, however long they take. A stalled process or disk can spend
// all of the patience on one attempt.
const minTries = 5

// Tries limits the attempts at a change while others keep changing its facts. It uses the monotonic clock.
type Tries struct {
	began    time.Time
	waited   time.Duration // in queues, for documents or a slot
	patience time.Duration
	tries    int
}

// Tries starts counting, for changes outside transactions that are retried for as long as transactions are.
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

// Pause waits before the next attempt, longer after more attempts. If the context ends, it returns the cause.
func (t *Tries) Pause(ctx context.Context) error { return outage.Pause(ctx, t.tries) }
