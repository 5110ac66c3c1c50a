package outage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.state.mongo")

// Bound is how long an outage lasts before waiting requests fail, and later ones fail immediately. A replica set
// elects another primary within about twelve seconds, and mgo may need a few more to find it. Clients wait longer than
// this for a reply.
const Bound = 25 * time.Second

// probePause is the time between two probes.
const probePause = time.Second

// hangPart is the part of Bound for which a request may go without a reply before the store is probed.
const hangPart = 5

// An Outage is whether a MongoDB is available, and since when it is not.
type Outage struct {
	options Options

	mu      sync.Mutex
	since   time.Time   // zero if there is no outage
	why     error       // the last error
	hanging time.Time   // when the first request began that had no reply for too long; zero if the store isn't in doubt
	proven  time.Time   // when a write was last confirmed: what failed before says nothing about now
	expiry  *time.Timer // cuts short what is in progress after the bound
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
	return fmt.Sprintf("the controller's store has been unavailable since %s, for %v",
		e.since.UTC().Format("2006-01-02 15:04:05 MST"),
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

// Unknown adds to the error of a change that an outage interrupted that it may have been made.
func Unknown(err error) error {
	return entity.WithHint(fmt.Errorf("it is not known whether the change was made: %w", err),
		awayHint+" Once it is back, see whether the change was made before you repeat it.")
}

// errSilent is the reason of an outage in which the store doesn't respond, or the majority doesn't.
var errSilent = errors.New("a write was not confirmed by the majority in time")

// Options are how an Outage reaches its MongoDB.
type Options struct {
	Probe     func() error  // one write that waits for the majority
	ProbeTime time.Duration // how long a probe may take before that is an outage
	Bound     time.Duration // Bound, except in tests
	Cut       func()        // ends all connections
}

// New returns an Outage that has not begun. The caller must call Close.
func New(o Options) *Outage { return &Outage{options: o, closed: make(chan struct{})} }

// Err implements Availability.
func (o *Outage) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || time.Since(o.since) < o.options.Bound {
		return nil
	}
	return away(o.since, o.why)
}

// Since implements Availability.
func (o *Outage) Since() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.since
}

// Failed implements Availability. The transaction can run again.
func (o *Outage) Failed(err error, began time.Time) (again bool) {
	o.failed(err, began)
	return true
}

// failed records that the reply was lost to a request that began at a time, and returns when the outage began. It returns
// zero if a probe has succeeded since: then only another attempt can tell.
func (o *Outage) failed(err error, began time.Time) (since time.Time) {
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
		o.expiry = time.AfterFunc(o.options.Bound-time.Since(since), func() { o.expire(since, true) })
		o.startProbes()
	}
	o.why = err
	return o.since
}

// Watch implements Availability. If the caller does not call done soon, the store is probed.
func (o *Outage) Watch() (done func() bool) {
	began := time.Now()
	return time.AfterFunc(o.options.Bound/hangPart, func() { o.doubt(began) }).Stop
}

// doubt probes the store because a request that began at a time has no reply.
func (o *Outage) doubt(began time.Time) {
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

// expire cuts short what is in progress once the outage that began at a time has lasted for the bound, so that it is
// answered like later requests: mgo waits up to a minute for a reply. A second time is for what began just before the first.
func (o *Outage) expire(began time.Time, again bool) {
	o.mu.Lock()
	lasts := o.since.Equal(began) && !isClosed(o.closed)
	if lasts && again {
		o.expiry = time.AfterFunc(o.options.Bound/hangPart, func() { o.expire(began, false) })
	}
	o.mu.Unlock()
	if lasts {
		o.options.Cut()
	}
}

// Confirmed implements Availability.
func (o *Outage) Confirmed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		logger.Infof("the MongoDB is back after %v", time.Since(o.since).Truncate(time.Millisecond))
		o.expiry.Stop()
	}
	o.since, o.hanging, o.why, o.proven = time.Time{}, time.Time{}, nil, time.Now()
}

// startProbes starts the probes unless they run. The caller holds mu.
func (o *Outage) startProbes() {
	if !o.probing && !isClosed(o.closed) {
		o.probing = true
		o.work.Go(o.probes)
	}
}

// probes probes the store until it responds.
func (o *Outage) probes() {
	for o.mustProbe() {
		began := time.Now()
		silent := time.AfterFunc(o.options.ProbeTime, func() { o.failed(errSilent, began) })
		err := o.options.Probe()
		silent.Stop()
		if err == nil {
			o.Confirmed()
			continue
		}
		o.failed(err, began)
		select {
		case <-time.After(probePause):
		case <-o.closed:
		}
	}
}

// mustProbe reports whether another probe is needed.
func (o *Outage) mustProbe() bool {
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

// Close stops the probe.
func (o *Outage) Close() {
	o.mu.Lock()
	close(o.closed)
	if o.expiry != nil {
		o.expiry.Stop()
	}
	o.mu.Unlock()
	o.work.Wait()
}

// Wrap implements Availability.
func (o *Outage) Wrap(err error, began time.Time) error {
	if !IsTransient(err) || errors.Is(err, entity.StoreAway) {
		return Classify(err)
	}
	since := o.failed(err, began)
	if since.IsZero() {
		since = began
	}
	return away(since, err)
}

// Retry implements Availability.
func (o *Outage) Retry(ctx context.Context, do func() error) error {
	if err := o.Err(); err != nil {
		return err
	}
	return o.retry(ctx, do)
}

// Finish implements Availability.
func (o *Outage) Finish(do func() error) error {
	err := o.retry(context.Background(), do)
	if errors.Is(err, entity.StoreAway) {
		err = Unknown(err)
	}
	return err
}

// retryBound limits how long a request is tried while primaries are lost and elected.
const retryBound = 40 * time.Second

// retry repeats do until it ends without a transient error, the outage has lasted for its bound, or ctx ends. It ends in any
// case after retryBound.
func (o *Outage) retry(ctx context.Context, do func() error) error {
	first := time.Now()
	for attempt := 1; ; attempt++ {
		began := time.Now()
		done := o.Watch()
		err := do()
		done()
		if !IsTransient(err) {
			return Classify(err)
		}
		if o.failed(err, began); o.Err() != nil || time.Since(first) >= retryBound {
			return o.Wrap(err, began)
		}
		if err := Pause(ctx, attempt); err != nil {
			return err
		}
	}
}
