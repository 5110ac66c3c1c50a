package controller

import (
	"context"
	"sync"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/leadership"
)

// leadTerm is for how long a controller that has disappeared keeps the workers that must run once from running elsewhere.
const leadTerm = 15 * time.Second

// A lead tells which epoch of the lease on the singular workers this controller holds.
type lead struct {
	mu      sync.Mutex
	epoch   int64         // 0 if it holds none
	changed chan struct{} // closed when the epoch changes
}

func newLead() *lead { return &lead{changed: make(chan struct{})} }

func (l *lead) get() (epoch int64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch, l.changed
}

func (l *lead) set(epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch != l.epoch {
		l.epoch = epoch
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// A leadClaim claims the lease for a leadership.Tracker.
type leadClaim struct {
	*running
	claims *sync.WaitGroup // those in progress
}

// ClaimLeadership implements leadership.API. It returns when ctx ends: a store that is away delays the claim for longer
// than the lease lasts, and the tracker must notice that it has ended.
func (l leadClaim) ClaimLeadership(ctx context.Context, node entity.Tag, d time.Duration) (int64, error) {
	type outcome struct {
		epoch int64
		err   error
	}
	claimed := make(chan outcome, 1)
	l.claims.Go(func() {
		epoch, err := l.ctrl.ClaimSingular(ctx, node.ID, d)
		claimed <- outcome{epoch, err}
	})
	select {
	case o := <-claimed:
		return o.epoch, o.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// ReleaseLeadership implements leadership.API.
func (l leadClaim) ReleaseLeadership(ctx context.Context, node entity.Tag) error {
	return l.ctrl.ReleaseSingular(ctx, node.ID)
}

// BlockUntilLeadershipReleased implements leadership.API.
func (l leadClaim) BlockUntilLeadershipReleased(ctx context.Context, _ entity.Tag) error {
	return l.ctrl.AwaitSingular(ctx)
}

// claimLead returns the worker that claims the lease on the singular workers. The lease must be released with the
// tracker once these have ended.
func (c *running) claimLead(tracker *leadership.Tracker) worker.Func {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		var claiming sync.WaitGroup
		defer claiming.Wait()
		defer cancel()
		defer c.lead.set(0)
		claiming.Go(func() { tracker.Run(ctx) })
		for {
			select {
			case <-tracker.Changed():
				epoch, _ := tracker.Epoch()
				if was, _ := c.lead.get(); was == 0 && epoch != 0 {
					logger.Infof("this controller runs the workers that must run once")
				} else if was != 0 && epoch == 0 {
					logger.Infof("this controller no longer runs the workers that must run once")
				}
				c.lead.set(epoch)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// singly returns a worker that runs work while this controller holds the lease on the singular workers. What work writes
// to the controller's database, and to that of st unless it is nil, fails once another controller does. If no other
// process can have the store open, it is work itself.
func (c *running) singly(st *state.State, work worker.Func) worker.Func {
	if c.lead == nil {
		return work
	}
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			epoch, changed := c.lead.get()
			if epoch == 0 {
				select {
				case <-changed:
				case <-ctx.Done():
				}
				continue
			}
			during, end := endsWith(ctx, changed)
			fenced, err := c.ctrl.Fence(during, st, epoch)
			if err == nil {
				err = work(fenced)
			}
			end()
			if now, _ := c.lead.get(); now == epoch {
				return err
			}
		}
		return context.Cause(ctx)
	}
}
