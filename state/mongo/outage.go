package mongo

import (
	"errors"
	"fmt"
	"sync"
	"time"

	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
)

// answerBound is how long an outage lasts before waiting requests fail, and later ones fail immediately. A replica set
// elects another primary within about twelve seconds, and mgo may need a few more to find it. Clients wait longer than
// this for a reply.
const answerBound = 25 * time.Second

// probePause is the time between two probes.
const probePause = time.Second

// An outage is the state of a MongoDB that doesn't respond or has no primary. Requests wait until it ends or has lasted
// for answerBound. From then on requests fail immediately, and only a probe keeps trying.
type outage struct {
	probe func() error // one attempt to write

	mu      sync.Mutex
	since   time.Time // zero if there is no outage
	why     error     // the last error
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

func newOutage(probe func() error) *outage {
	return &outage{probe: probe, closed: make(chan struct{})}
}

// refuses returns the error for requests that arrive after an outage has lasted for answerBound, and nil
// otherwise. A nil outage means that the store has no outages.
func (o *outage) refuses() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || time.Since(o.since) < answerBound {
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

// met records that a reply was lost, and returns when the outage began.
func (o *outage) met(err error) (since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = time.Now()
		logger.Warningf("the MongoDB is unavailable, and the controller waits for it: %v", err)
		if !o.probing && !isClosed(o.closed) {
			o.probing = true
			o.work.Go(o.probes)
		}
	}
	o.why = err
	return o.since
}

// over records that the store has responded.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		logger.Infof("the MongoDB is back after %v", time.Since(o.since).Truncate(time.Millisecond))
		o.since, o.why = time.Time{}, nil
	}
}

// probes probes the store until it responds.
func (o *outage) probes() {
	for {
		select {
		case <-time.After(probePause):
		case <-o.closed:
		}
		o.mu.Lock()
		if o.probing = !o.since.IsZero() && !isClosed(o.closed); !o.probing {
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		if err := o.probe(); err == nil {
			o.over()
		}
	}
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
	o.mu.Unlock()
	o.work.Wait()
}

// told adds a kind and a user-facing text to the error of a request whose reply was lost, and to the errors
// that known classifies. Other errors are returned unchanged.
func (o *outage) told(err error) error {
	if o == nil || !cutShort(err) || errors.Is(err, entity.StoreAway) {
		return known(err)
	}
	return away(o.met(err), err)
}

// sitOut repeats do until it isn't cut short, or the outage has lasted for answerBound.
func (o *outage) sitOut(do func() error) error {
	if o == nil {
		return known(do())
	}
	if err := o.refuses(); err != nil {
		return err
	}
	return o.until(do, func(since time.Time) bool { return time.Since(since) >= answerBound })
}

// bringThrough is sitOut for an operation that has already begun: it may take electionBound from now.
func (o *outage) bringThrough(do func() error) error {
	end := time.Now().Add(electionBound)
	return o.until(do, func(time.Time) bool { return !time.Now().Before(end) })
}

func (o *outage) until(do func() error, ends func(since time.Time) bool) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if !cutShort(err) {
			if err == nil || err == mgo.ErrNotFound {
				o.over()
			}
			return known(err)
		}
		if since := o.met(err); ends(since) {
			return o.told(err)
		}
		time.Sleep(pause(attempt))
	}
}
