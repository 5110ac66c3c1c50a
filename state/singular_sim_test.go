package state_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"juju/state/controller"
)

// Of the controllers that share a store, one leads at a time. What one writes that led before fails, once another one
// has begun.
func TestLeadingControllersNeverOverlap(t *testing.T) {
	holdElection(t, 3, func(e *election) office { return &controllersLead{election: e, terms: map[int]ruled{}} })
}

// controllersLead has controllers as candidates. Each claims as the process that runs it then, and writes as the one that
// has claimed, which may have been replaced.
type controllersLead struct {
	*election
	mu    sync.Mutex
	terms map[int]ruled // by candidate
}

// ruled is a candidate's term: the process that has claimed it, and the context with its fences.
type ruled struct {
	seat
	fenced context.Context
}

// node returns the name of the controller that a candidate is.
func (c *controllersLead) node(who int) string { return string(rune('0' + who)) }

func (c *controllersLead) claim(ctx context.Context, r *rand.Rand, who int, d time.Duration) (int64, error) {
	c.election.mu.Lock()
	s := c.controllers[who]
	c.election.mu.Unlock()
	epoch, err := s.ctrl.ClaimSingular(ctx, c.node(who), d)
	if err != nil {
		return 0, err
	}
	if r.IntN(3) == 0 { // another one may lead before this one begins
		time.Sleep(time.Duration(r.Int64N(int64(2 * d))))
	}
	fenced, err := s.ctrl.Fence(ctx, s.st, epoch)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.terms[who] = ruled{s, fenced}
	return epoch, nil
}

func (c *controllersLead) term(who int) ruled {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terms[who]
}

func (c *controllersLead) write(ctx context.Context, _ *rand.Rand, who int, _ int64, text string) error {
	term := c.term(who)
	return term.st.WriteText(controller.KeepFences(ctx, term.fenced), "mysql", text)
}

func (c *controllersLead) release(ctx context.Context, _ *rand.Rand, who int) error {
	return c.term(who).ctrl.ReleaseSingular(ctx, c.node(who))
}
