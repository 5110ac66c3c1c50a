package mongo

import (
	"context"
	"errors"
	"time"

	"juju/state/entity"
)

// A Meter receives measurements of a store, for the controller's metrics. Its methods must not block.
type Meter interface {
	// Transaction is called when a change was made or abandoned, with the number of attempts.
	Transaction(end Outcome, attempts int)
	// Barrier is called with the time that a caller waited for a barrier.
	Barrier(took time.Duration)
	// Delivered is called with the age of a change when its watchers were told of it.
	Delivered(age time.Duration)
}

// An Outcome says how a change ended.
type Outcome string

// The outcomes.
const (
	Applied   Outcome = "applied"
	Unneeded  Outcome = "unneeded"  // there was nothing to do
	Refused   Outcome = "refused"   // it was not allowed, or what it is about is gone
	Contended Outcome = "contended" // others kept changing the same facts
	Cancelled Outcome = "cancelled" // its context ended
	Failed    Outcome = "failed"    // the store could not be reached, or failed
)

// outcomeOf returns the outcome of a change from its result and its context.
func outcomeOf(ctx context.Context, applied bool, err error) Outcome {
	switch kind := entity.KindOf(err); {
	case applied:
		return Applied
	case err == nil:
		return Unneeded
	case errors.Is(err, entity.StoreAway), kind == entity.Damaged:
		return Failed
	case kind == entity.Contention:
		return Contended
	case ctx.Err() != nil:
		return Cancelled
	case kind != "":
		return Refused
	}
	return Failed
}

// unmetered is the Meter of a store without one: it ignores everything.
type unmetered struct{}

func (unmetered) Transaction(Outcome, int) {}
func (unmetered) Barrier(time.Duration)    {}
func (unmetered) Delivered(time.Duration)  {}
