package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"juju/state/entity"
)

// answerBound is how long an outage lasts before waiting requests fail, and later ones fail immediately. A replica set
// elects another primary within about twelve seconds, and mgo may need a few more to find it. Clients wait longer than
// this for a reply.
const answerBound = 25 * time.Second

// probePause is the time between two probes.
const probePause = time.Second

// hangPart is the part of answerBound for which a request may go without a reply before the store is probed.
const hangPart = 5

// An outage is the state of a MongoDB that doesn't respond, has no primary, or whose primary has no majority. Requests
// wait until it ends or has lasted for answerBound. Then what is in progress is cut short, requests fail immediately, and
// only a probe keeps trying. Only a write that the majority confirms ends an outage: reads succeed without a majority too.
type outage struct {
	probe  func() error  // one write that waits for the majority
	bound  time.Duration // how long a probe may take before that is an outage
	answer time.Duration // answerBound, except in tests
	cut    func()        // ends all connections

	mu      sync.Mutex
	since   time.Time   // zero if there is no outage
	why     error       // the last error
	hanging time.Time   // when the first request began that had no reply for too long; zero if the store isn't in doubt
	proven  time.Time   // when a write was last confirmed: what failed before says nothing about now
	expiry  *time.Timer // cuts short what is in progress after answerBound
	probing bool
	closed  chan struct{}
	work    sync.WaitGroup // the probe
}

// An awayError tells users, on both sides of the API, that the store is unreachable. Its text contains no hosts,
// because unauthenticated clients see it too.
type awayError struct {
	since time.Time
	why   error
}

// Error returns when the outage began, and its duration.
func (e *awayError) Error() string {
	return fmt.Sprintf("the controller's store has been unavailable since %s, for %v", e.since.UTC().Format("2006-01-02 15:04:05 MST"),
		time.Since(e.since).Truncate(time.Second))
}

// Unwrap gives it the kind Unavailable, and within this process StoreAway.
func (e *awayError) Unwrap() []error { return []error{entity.Unavailable, entity.StoreAway, e.why} }

const awayHint = "The controller waits until its MongoDB has a primary, and then continues. " +
	"If that takes long, check that a majority of the MongoDB's members are running and can reach each other."

// away returns the error for requests that must not wait any longer.
func away(since time.Time, why error) error {
	return entity.WithHint(&awayError{since, why}, awayHint)
}

// unknown adds to the error of an operation that an outage interrupted that it may have been done.
func unknown(err error) error {
	return entity.WithHint(fmt.Errorf("it is not known whether the change was made: %w", err),
		awayHint+" Once it is back, see whether the change was made before you repeat it.")
}

// errSilent is the reason of an outage in which the store doesn't respond, or the majority doesn't.
var errSilent = errors.New("a write was not confirmed by the majority in time")

func newOutage(probe func() error, bound, answer time.Duration, cut func()) *outage {
	return &outage{probe: probe, bound: bound, answer: answer, cut: cut, closed: make(chan struct{})}
}

// refuses returns the error for requests that arrive after an outage has lasted for answerBound, and nil
// otherwise. A nil outage means that the store has no outages.
func (o *outage) refuses() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || time.Since(o.since) < o.answer {
		return nil
	}
	return away(o.since, o.why)
}

// began returns when the outage began; zero if there is none.
func (o *outage) began() time.Time {
	if o == nil {
		return time.Time{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.since
}

// met records that the reply was lost to a request that began at a time, and returns when the outage began. It returns zero
// if a probe has succeeded since: then only another attempt can tell.
func (o *outage) met(err error, began time.Time) (since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		if began.Before(o.proven) {
			return time.Time{}
		}
		if o.since = time.Now(); !o.hanging.IsZero() {
			o.since = o.hanging
		}
		logger.Warningf("the MongoDB has been unavailable since %s, and the controller waits for it: %v",
			o.since.UTC().Format(time.RFC3339), err)
		since := o.since
		o.expiry = time.AfterFunc(o.answer-time.Since(since), func() { o.expire(since, true) })
		o.startProbes()
	}
	o.why = err
	return o.since
}

// watch has the store probed if the caller does not call done soon.
func (o *outage) watch() (done func() bool) {
	if o == nil {
		return func() bool { return true }
	}
	began := time.Now()
	return time.AfterFunc(o.answer/hangPart, func() { o.doubt(began) }).Stop
}

// doubt probes the store because a request that began at a time has no reply.
func (o *outage) doubt(began time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if began.Before(o.proven) {
		began = o.proven
	}
	if o.hanging.IsZero() || began.Before(o.hanging) {
		o.hanging = began
	}
	o.startProbes()
}

// expire cuts short what is in progress once the outage that began at a time has lasted for answerBound, so that it is
// answered like later requests: mgo waits up to a minute for a reply. A second time is for what began just before the first.
func (o *outage) expire(began time.Time, again bool) {
	o.mu.Lock()
	lasts := o.since.Equal(began) && !isClosed(o.closed)
	if lasts && again {
		o.expiry = time.AfterFunc(o.answer/hangPart, func() { o.expire(began, false) })
	}
	o.mu.Unlock()
	if lasts {
		o.cut()
	}
}

// over records that the majority has confirmed a write.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		logger.Infof("the MongoDB is back after %v", time.Since(o.since).Truncate(time.Millisecond))
		o.expiry.Stop()
	}
	o.since, o.hanging, o.why, o.proven = time.Time{}, time.Time{}, nil, time.Now()
}

// startProbes starts the probes unless they run. The caller holds mu.
func (o *outage) startProbes() {
	if !o.probing && !isClosed(o.closed) {
		o.probing = true
		o.work.Go(o.probes)
	}
}

// probes probes the store until it responds.
func (o *outage) probes() {
	for o.mustProbe() {
		began := time.Now()
		silent := time.AfterFunc(o.bound, func() { o.met(errSilent, began) })
		err := o.probe()
		silent.Stop()
		if err == nil {
			o.over()
			continue
		}
		o.met(err, began)
		select {
		case <-time.After(probePause):
		case <-o.closed:
		}
	}
}

// mustProbe reports whether another probe is needed.
func (o *outage) mustProbe() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.probing = !(o.since.IsZero() && o.hanging.IsZero()) && !isClosed(o.closed)
	return o.probing
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// close stops the probe.
func (o *outage) close() {
	o.mu.Lock()
	close(o.closed)
	if o.expiry != nil {
		o.expiry.Stop()
	}
	o.mu.Unlock()
	o.work.Wait()
}

// told adds a kind and a user-facing text to the error of a request whose reply was lost, and to the errors
// that known classifies. Other errors are returned unchanged. began is when the request began.
func (o *outage) told(err error, began time.Time) error {
	if o == nil || !cutShort(err) || errors.Is(err, entity.StoreAway) {
		return known(err)
	}
	since := o.met(err, began)
	if since.IsZero() {
		since = began
	}
	return away(since, err)
}

// sitOut repeats do until it isn't cut short, the outage has lasted for answerBound, or ctx ends.
func (o *outage) sitOut(ctx context.Context, do func() error) error {
	if o == nil {
		return known(do())
	}
	if err := o.refuses(); err != nil {
		return err
	}
	return o.until(ctx, do)
}

// bringThrough is sitOut for a change that has begun: no context ends it, because it would leave a transaction open that
// holds up others. If it fails, the change may have been made.
func (o *outage) bringThrough(do func() error) error {
	err := o.until(context.Background(), do)
	if errors.Is(err, entity.StoreAway) {
		err = unknown(err)
	}
	return err
}

// until is sitOut without a check before the first attempt. It ends in any case after electionBound.
func (o *outage) until(ctx context.Context, do func() error) error {
	first := time.Now()
	for attempt := 1; ; attempt++ {
		began := time.Now()
		done := o.watch()
		err := do()
		done()
		if !cutShort(err) {
			return known(err)
		}
		if o.met(err, began); o.refuses() != nil || time.Since(first) >= electionBound {
			return o.told(err, began)
		}
		if err := Sleep(ctx, pause(attempt)); err != nil {
			return err
		}
	}
}
