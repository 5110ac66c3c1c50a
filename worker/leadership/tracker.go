// Package leadership keeps a unit's claim to lead its service.
package leadership

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.worker.leadership")

// API is what a Tracker needs of the controller.
type API interface {
	// ClaimLeadership makes the unit the leader of its service for at least d from the call, or
	// extends its leadership. It returns the epoch of the claim. The error is
	// entity.LeadershipRefused while another unit leads, and for a unit that is not Alive.
	ClaimLeadership(ctx context.Context, unit entity.Tag, d time.Duration) (epoch int64, err error)
	// ReleaseLeadership ends the unit's leadership, if it leads.
	ReleaseLeadership(ctx context.Context, unit entity.Tag) error
	// BlockUntilLeadershipReleased waits until a claim may succeed. It may return earlier.
	BlockUntilLeadershipReleased(ctx context.Context, unit entity.Tag) error
}

// Term is how long a unit claims to lead. A leader renews its claim at half of it.
const Term = time.Minute

// The pause after a claim that failed, and how long a stopping agent tries to release its
// leadership.
const (
	retryPause    = 3 * time.Second
	releaseBound  = 5 * time.Second
	halfTerm      = Term / 2
	minBlockPause = time.Second
)

// A Tracker claims the leadership of a unit's service whenever it is free, and renews the claim.
// What it says survives a lost connection: the unit leads until the end of its term, which the
// Tracker counts from before the claim was sent, and no longer.
type Tracker struct {
	api      API
	unit     entity.Tag
	claiming chan struct{} // held by the claim in progress
	changed  chan struct{}
	retired  chan struct{}
	retire   sync.Once

	mu    sync.Mutex
	known bool  // the controller has answered a claim
	epoch int64 // of the last claim that was granted; 0 if that term is over
	until time.Time
}

// NewTracker returns a Tracker of the unit. It claims nothing before Run.
func NewTracker(api API, unit entity.Tag) *Tracker {
	return &Tracker{api: api, unit: unit, claiming: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		retired: make(chan struct{})}
}

// Changed is signalled when what Epoch returns has changed.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// Epoch returns the epoch of the claim by which the unit leads its service now, or 0 if it does
// not lead. known is false as long as the controller has not answered the first claim.
func (t *Tracker) Epoch() (epoch int64, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left() <= 0 {
		return 0, t.known
	}
	return t.epoch, t.known
}

// left returns how long the unit still leads.
func (t *Tracker) left() time.Duration {
	if t.epoch == 0 {
		return 0
	}
	// The monotonic clock stands still while the machine sleeps, the other may be set back.
	now := time.Now()
	return min(t.until.Sub(now), t.until.Round(0).Sub(now.Round(0)))
}

// Lead returns the epoch of the claim by which the unit leads its service for at least d from
// now, which it renews if need be. It returns 0 if the unit does not lead for so long.
func (t *Tracker) Lead(ctx context.Context, d time.Duration) (epoch int64, err error) {
	for claimed := false; ; claimed = true {
		t.mu.Lock()
		known, epoch, left := t.known, t.epoch, t.left()
		t.mu.Unlock()
		switch {
		case known && left >= d && epoch != 0:
			return epoch, nil
		case known && (left <= 0 || claimed):
			return 0, nil
		}
		if err := t.claim(ctx); err != nil && !errors.Is(err, entity.LeadershipRefused) {
			return 0, err
		}
	}
}

// Retire ends the claims: a unit that is not Alive leads to the end of its term, and no longer.
func (t *Tracker) Retire() { t.retire.Do(func() { close(t.retired) }) }

// Run claims and renews until ctx ends. Then the unit still leads, unless Release is called.
func (t *Tracker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-t.retired:
			t.sleep(ctx, nil, t.expire())
			t.expire()
			<-ctx.Done()
			return
		default:
		}
		t.sleep(ctx, t.retired, t.attempt(ctx))
		t.expire()
	}
}

// attempt claims or renews, and waits while another unit leads. It returns when to try again.
func (t *Tracker) attempt(ctx context.Context) (pause time.Duration) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if left := t.expire(); left > 0 {
		bounded, cancel = context.WithTimeout(ctx, left)
	}
	err := t.claim(bounded)
	cancel()
	left := t.expire()
	switch {
	case err == nil:
		return left - halfTerm
	case errors.Is(err, entity.LeadershipRefused) && left <= 0:
		// This is bounded by the time that a request may take.
		began := time.Now()
		if err := t.block(ctx); err == nil && time.Since(began) >= minBlockPause {
			return 0
		}
		return retryPause // others claim it at the same moment, or the unit is no longer Alive
	case ctx.Err() == nil && !errors.Is(err, entity.LeadershipRefused):
		logger.Debugf("cannot claim leadership for unit %s: %v", t.unit.ID, err)
	}
	if left > 0 {
		return min(left, retryPause)
	}
	return retryPause
}

// block waits until the leadership may be free, or the Tracker is retired.
func (t *Tracker) block(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-t.retired:
			cancel()
		case <-over:
		}
	}()
	return t.api.BlockUntilLeadershipReleased(ctx, t.unit)
}

// claim makes one claim. One is in progress at a time.
func (t *Tracker) claim(ctx context.Context) error {
	select {
	case t.claiming <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.claiming }()
	began := time.Now()
	epoch, err := t.api.ClaimLeadership(ctx, t.unit, Term)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		if !t.known || epoch != t.epoch {
			t.signal()
		}
		t.known, t.epoch, t.until = true, epoch, began.Add(Term)
	case errors.Is(err, entity.LeadershipRefused):
		// A term that is not over yet goes on: no other unit leads before its end.
		if !t.known {
			t.known = true
			t.signal()
		}
	}
	return err
}

// expire notes that the term is over, if it is, and returns what is left of it.
func (t *Tracker) expire() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.left()
	if t.epoch != 0 && left <= 0 {
		t.epoch = 0
		t.signal()
	}
	return left
}

func (t *Tracker) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// sleep waits for d, or until wake is closed.
func (t *Tracker) sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// Release gives the leadership back, so that another unit can lead at once. It is for an agent
// that stops: no hook may run that believes it leads.
func (t *Tracker) Release(ctx context.Context) {
	t.mu.Lock()
	led := t.epoch != 0
	t.epoch, t.until = 0, time.Time{}
	t.mu.Unlock()
	if !led {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	if err := t.api.ReleaseLeadership(ctx, t.unit); err != nil {
		logger.Warningf("cannot release the leadership of unit %s, which ends with its term: %v", t.unit.ID, err)
	}
}
