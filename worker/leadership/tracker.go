// Package leadership claims and renews a unit's leadership of its service.
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
	// entity.LeadershipRefused while another unit leads, and for a unit that is not Alive while its service is.
	ClaimLeadership(ctx context.Context, unit entity.Tag, d time.Duration) (epoch int64, err error)
	// ReleaseLeadership ends the unit's leadership, if it is the leader.
	ReleaseLeadership(ctx context.Context, unit entity.Tag) error
	// BlockUntilLeadershipReleased waits until a claim may succeed. It may return early.
	BlockUntilLeadershipReleased(ctx context.Context, unit entity.Tag) error
}

// Term is the duration of a unit's leadership claim. A leader renews its claim after half of it.
const Term = time.Minute

const (
	retryPause    = 3 * time.Second // after a failed claim
	releaseBound  = 5 * time.Second // for a stopping agent's attempt to release its leadership
	minBlockPause = time.Second
)

// A Tracker claims the leadership of a unit's service whenever it is vacant, and renews the claim. Its answers
// stay valid while the connection is lost: the unit leads until its term ends, and no longer. The term is
// measured from before the claim was sent, so it ends here no later than on the controller.
type Tracker struct {
	api      API
	unit     entity.Tag
	term     time.Duration
	claiming chan struct{} // held by the claim in progress
	changed  chan struct{}

	mu      sync.Mutex
	retired bool
	turned  chan struct{} // closed when retired changes
	known   bool          // the controller has answered a claim
	epoch   int64         // of the last granted claim; 0 if its term has ended
	// The end of that term. The monotonic clock stops while the machine is suspended, and the wall clock may be
	// set back: the term has ended when either says so.
	until, wall time.Time
}

// NewTracker returns a Tracker for the unit, whose claims have the given term. It claims nothing until Run is called.
func NewTracker(api API, unit entity.Tag, term time.Duration) *Tracker {
	return &Tracker{api: api, unit: unit, term: term, claiming: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		turned: make(chan struct{})}
}

// Changed is signalled when the result of Epoch has changed.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// Epoch returns the epoch of the unit's current claim, or 0 if it is not the leader. known is false until the
// controller has answered the first claim.
func (t *Tracker) Epoch() (epoch int64, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left() <= 0 {
		return 0, t.known
	}
	return t.epoch, t.known
}

// left returns the remaining time of the unit's term.
func (t *Tracker) left() time.Duration {
	if t.epoch == 0 {
		return 0
	}
	return min(time.Until(t.until), time.Until(t.wall))
}

// Lead returns the epoch of a claim by which the unit leads its service for at least d from now. It renews the
// claim if necessary, and returns 0 if the unit will not lead for that long. A retired unit asks anew, even if it does not
// lead: while its hook runs nobody tells the Tracker that all others are dying too.
func (t *Tracker) Lead(ctx context.Context, d time.Duration) (epoch int64, err error) {
	for claimed := false; ; claimed = true {
		t.mu.Lock()
		known, epoch, left, retired := t.known, t.epoch, t.left(), t.retired
		t.mu.Unlock()
		switch {
		case known && left >= d && epoch != 0:
			return epoch, nil
		case known && (left <= 0 && !retired || claimed):
			return 0, nil
		}
		if err := t.claim(ctx); err != nil && !errors.Is(err, entity.LeadershipRefused) {
			return 0, err
		}
	}
}

// Retire stops claiming, or begins again: a retired unit leads until its term ends, but does not renew it.
func (t *Tracker) Retire(retired bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retired != retired {
		t.retired = retired
		close(t.turned)
		t.turned = make(chan struct{})
	}
}

// isRetired also returns the channel that is closed when that changes.
func (t *Tracker) isRetired() (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.retired, t.turned
}

// Run claims and renews until ctx ends. The unit keeps the rest of its term unless Release is called.
func (t *Tracker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		retired, turned := t.isRetired()
		switch {
		case !retired:
			t.sleep(ctx, turned, t.attempt(ctx, turned))
		case t.expire() > 0:
			t.sleep(ctx, turned, t.expire())
		default:
			select {
			case <-turned:
			case <-ctx.Done():
			}
		}
	}
}

// attempt claims or renews, and waits while another unit leads. It returns the time until the next attempt.
func (t *Tracker) attempt(ctx context.Context, turned <-chan struct{}) (pause time.Duration) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if left := t.expire(); left > 0 {
		bounded, cancel = context.WithTimeout(ctx, left)
	}
	defer cancel()
	err := t.claim(bounded)
	left := t.expire()
	switch {
	case err == nil:
		return left - t.term/2
	case errors.Is(err, entity.LeadershipRefused) && left <= 0:
		// The request's timeout limits this wait.
		began := time.Now()
		if err := t.block(ctx, turned); err == nil && time.Since(began) >= minBlockPause {
			return 0
		}
		return retryPause // another unit was faster, or this one is no longer Alive
	case ctx.Err() == nil && !errors.Is(err, entity.LeadershipRefused):
		logger.Debugf("cannot claim leadership for unit %s: %v", t.unit.ID, err)
	}
	if left > 0 {
		return min(left, retryPause)
	}
	return retryPause
}

// block waits until the leadership may be vacant, or the Tracker is retired.
func (t *Tracker) block(ctx context.Context, turned <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-turned:
			cancel()
		case <-over:
		}
	}()
	return t.api.BlockUntilLeadershipReleased(ctx, t.unit)
}

// claim makes one claim. Claims are serialized.
func (t *Tracker) claim(ctx context.Context) error {
	select {
	case t.claiming <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.claiming }()
	began := time.Now()
	epoch, err := t.api.ClaimLeadership(ctx, t.unit, t.term)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		if !t.known || epoch != t.epoch {
			t.signal()
		}
		t.known, t.epoch, t.until = true, epoch, began.Add(t.term)
		t.wall = t.until.Round(0)
	case errors.Is(err, entity.LeadershipRefused):
		// The current term still runs to its end: no other unit can lead before that.
		if !t.known {
			t.known = true
			t.signal()
		}
	}
	return err
}

// expire clears the claim if its term has ended, and returns the remaining time.
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

// sleep waits for d, or until wake is closed or ctx is done.
func (t *Tracker) sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// Release gives up the leadership, so that another unit can lead immediately. A stopping agent calls it when
// no more hooks can run that rely on being the leader.
func (t *Tracker) Release(ctx context.Context) {
	t.mu.Lock()
	led := t.epoch != 0
	t.epoch = 0
	t.mu.Unlock()
	if !led {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	if err := t.api.ReleaseLeadership(ctx, t.unit); err != nil {
		logger.Warningf("cannot release the leadership of unit %s, it will expire: %v", t.unit.ID, err)
	}
}
