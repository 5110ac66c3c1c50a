package outage

import (
	"context"
	"math/rand/v2"
	"time"

	"juju/state/entity/backoff"
)

// An Availability is how requests fare when their server goes away.
type Availability interface {
	// Err returns the error for requests that must not wait, because the server has been away for too long; nil otherwise.
	Err() error
	// Since returns since when the server has been away; zero if it is not.
	Since() time.Time
	// Watch is called before a request is sent, and done when its reply has come.
	Watch() (done func() bool)
	// Wrap gives the kind entity.Unavailable and a text for users to the error of a request whose reply was lost, and
	// returns Classify of others. began is when the request began.
	Wrap(err error, began time.Time) error
	// Retry repeats do, which may have been executed before, until its reply comes, the server has been away for too long,
	// or ctx ends.
	Retry(ctx context.Context, do func() error) error
	// Finish is Retry for the end of a change that has begun. No context ends it, because it would leave a transaction open
	// that holds up others. If it fails, the change may have been made.
	Finish(do func() error) error
	// Failed records that the reply was lost to a request of a transaction that has no effect without its commit, and
	// reports whether it can run again. began is when the request began.
	Failed(err error, began time.Time) (again bool)
	// Confirmed records that the majority has confirmed a write.
	Confirmed()
}

// Never is the Availability of a server that fails only together with this process. Only a test cuts its connections.
type Never struct{}

// Err implements Availability.
func (Never) Err() error { return nil }

// Since implements Availability.
func (Never) Since() time.Time { return time.Time{} }

// Watch implements Availability.
func (Never) Watch() (done func() bool) { return func() bool { return true } }

// Wrap implements Availability.
func (Never) Wrap(err error, _ time.Time) error { return Classify(err) }

// Retry implements Availability: it calls do once.
func (Never) Retry(_ context.Context, do func() error) error { return Classify(do()) }

// Finish implements Availability.
func (Never) Finish(do func() error) error {
	err := do()
	if IsTransient(err) {
		err = do()
	}
	return Classify(err)
}

// Failed implements Availability.
func (Never) Failed(error, time.Time) bool { return false }

// Confirmed implements Availability.
func (Never) Confirmed() {}

const minPause, maxPause = time.Millisecond, 200 * time.Millisecond

// Pause waits before another attempt, longer after more attempts. If ctx ends, it returns the cause.
func Pause(ctx context.Context, attempt int) error {
	limit := min(maxPause, minPause<<min(attempt+1, 10))
	return backoff.Sleep(ctx, minPause+rand.N(limit))
}
