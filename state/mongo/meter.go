package mongo

import (
	"context"
	"errors"
	"time"

	"juju/state/entity"
)

// A Meter is told what a store does, for the controller's metrics. Its methods return at once.
type Meter interface {
	// Transaction is called when a change has been made or given up, after so many attempts.
	Transaction(end Outcome, attempts int)
	// Barrier is called with how long somebody waited at the barrier.
	Barrier(took time.Duration)
	// Delivered is called with how old a change was when its watchers heard of it.
	Delivered(age time.Duration)
}

// An Outcome is how a change has ended.
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

// outcomeOf returns the outcome of a change that has ended so in ctx.
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

// unmetered is the Meter of a store that has none.
type unmetered struct{}

func (unmetered) Transaction(Outcome, int) {}
func (unmetered) Barrier(time.Duration)    {}
func (unmetered) Delivered(time.Duration)  {}
