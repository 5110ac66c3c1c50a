package controller

import (
	"context"
	"time"

	"juju/state/controller"
	"juju/worker"
)

const (
	// removalsAtOnce is the maximum number of concurrent removals.
	removalsAtOnce = 8
	// firstRetry is the initial pause before the removal of a model is retried.
	firstRetry = time.Second
)

// removals remove the remains of models. The loop owns the fields. Each removal runs in a goroutine of its
// own, which waits for a slot, and has its own backoff, so that a cloud that is slow for one model does not
// hold up the others.
type removals struct {
	watch   func(context.Context) (<-chan struct{}, error)
	remains func(context.Context) ([]controller.Remains, error)
	resume  func(context.Context, controller.Remains) (done bool, err error)
	retry   time.Duration // the maximum pause

	turns   chan struct{} // a semaphore, first come, first served
	ended   chan *removal
	busy    map[string]*removal // by model
	retries worker.Retries[controller.Remains]
}

// A removal is one attempt to remove a model.
type removal struct {
	controller.Remains
	done  bool
	pause time.Duration // until it is retried, if it is not done
}

func (r *removals) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	r.turns, r.ended, r.busy = make(chan struct{}, removalsAtOnce), make(chan *removal), map[string]*removal{}
	r.retries = worker.Retries[controller.Remains]{First: firstRetry, Longest: r.retry}
	defer func() {
		cancel()
		for range r.busy {
			<-r.ended
		}
	}()
	return worker.NotifySteps(ctx, r.watch, r.ended, func(m *removal) error {
		delete(r.busy, m.UUID)
		if !m.done && !m.Leftover {
			r.retries.Failed(m.UUID, m.Remains, m.pause)
		}
		return nil
	}, r.pass)
}

// pass starts the removals that are due, and returns the time until the next one is due, or 0 if there is
// none. A model that has changed since it failed is due immediately, a leftover only if the watch has fired.
func (r *removals) pass(ctx context.Context, news bool) (again time.Duration, err error) {
	all, err := r.remains(ctx)
	if err != nil {
		return 0, err
	}
	r.retries.Begin()
	for _, left := range all {
		wait, pause := r.retries.Ask(left.UUID, left)
		m := &removal{Remains: left, pause: pause}
		switch {
		case r.busy[left.UUID] != nil, left.Leftover && !news:
		case wait > 0:
			again = worker.Sooner(again, wait)
		default:
			r.busy[left.UUID] = m
			go func() { r.attempt(ctx, m); r.ended <- m }()
		}
	}
	return again, nil
}

// attempt waits for a slot and tries to remove the remains of a model.
func (r *removals) attempt(ctx context.Context, m *removal) {
	select {
	case <-ctx.Done():
		return
	case r.turns <- struct{}{}:
	}
	defer func() { <-r.turns }()
	var err error
	m.done, err = r.resume(ctx, m.Remains)
	if err != nil && !m.Leftover && ctx.Err() == nil {
		logger.Errorf("cannot remove the remains of model %q (%s): %v; retrying in %v", m.Name, m.UUID, err, m.pause)
	}
}
