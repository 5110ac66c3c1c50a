package controller

import (
	"context"
	"reflect"
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

	turns  chan struct{} // a semaphore, first come, first served
	ended  chan *removal
	busy   map[string]*removal // by model
	failed map[string]*removal // by model
}

// A removal is one attempt to remove a model.
type removal struct {
	controller.Remains
	done  bool
	pause time.Duration // until it is retried, if it is not done
	next  time.Time
}

func (r *removals) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	r.turns, r.ended, r.busy = make(chan struct{}, removalsAtOnce), make(chan *removal), map[string]*removal{}
	defer func() {
		cancel()
		for range r.busy {
			<-r.ended
		}
	}()
	return worker.NotifySteps(ctx, r.watch, r.ended, func(m *removal) error {
		delete(r.busy, m.UUID)
		delete(r.failed, m.UUID)
		if !m.done && !m.Leftover {
			m.next = time.Now().Add(m.pause)
			r.failed[m.UUID] = m
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
	failed := r.failed
	r.failed = map[string]*removal{}
	for _, left := range all {
		m := &removal{Remains: left, pause: min(firstRetry, r.retry)}
		var pause time.Duration
		if was := failed[left.UUID]; was != nil && reflect.DeepEqual(was.Remains, left) {
			r.failed[left.UUID] = was
			m.pause, pause = min(2*was.pause, r.retry), time.Until(was.next)
		}
		switch {
		case r.busy[left.UUID] != nil, left.Leftover && !news:
		case pause > 0:
			if again == 0 || pause < again {
				again = pause
			}
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
