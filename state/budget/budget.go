// Package budget limits the memory that a server holds for its clients.
package budget

import (
	"context"
	"errors"
	"sync"
	"time"

	"juju/state/entity"
)

// A Budget limits the memory of all holds together. A hold that needs more than is left waits. The next turn goes to the
// owner that holds the least, so that a few large owners don't delay everyone else. While any hold waits, one that has
// waited for its client for longer than the grace is ended: the oldest hold of the owner that holds the most. So clients
// that send or read slowly can't starve others of memory.
type Budget struct {
	limits Limits

	mu      sync.Mutex
	used    int64
	peak    int64 // the maximum of used
	of      map[any]*account
	waiting []*claim // in order of arrival
}

// Limits are those of a Budget.
type Limits struct {
	// Total is the memory of all holds in bytes; one hold can have half of it. Share limits an owner of more than one.
	Total, Share int64
	// Wait is how long a hold waits for memory, and Grace how long one waits for its client before it may be ended.
	Wait, Grace time.Duration
}

// An account is the memory of one owner.
type account struct {
	used  int64
	holds map[*Hold]bool
}

// A Hold is memory of one owner, for example of one request. A nil Hold is unlimited and counts nothing.
type Hold struct {
	budget *Budget
	who    any
	end    func(error)
	bytes  int64
	since  time.Time // when it began to wait for its client or for memory; zero while the server works
}

// A claim is a hold that waits for memory.
type claim struct {
	hold  *Hold
	bytes int64
	given chan struct{}
}

// ErrNeeded is the reason for ending a hold whose client is slow while others wait for its memory.
var ErrNeeded = errors.New("the controller needs the memory that this connection holds; try again")

// New returns an empty Budget.
func New(l Limits) *Budget { return &Budget{limits: l, of: map[any]*account{}} }

// Used returns the bytes that are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Peak returns the most bytes that were ever held.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// Open opens an empty hold. end releases it early, for another one that waits; it is given the reason.
func (b *Budget) Open(who any, end func(error)) *Hold {
	h := &Hold{budget: b, who: who, end: end}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of[who]
	if a == nil {
		a = &account{holds: map[*Hold]bool{}}
		b.of[who] = a
	}
	a.holds[h] = true
	return h
}

// Close releases the memory. It is idempotent.
func (h *Hold) Close() {
	if h == nil {
		return
	}
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of[h.who]
	if a == nil || !a.holds[h] {
		return
	}
	b.add(h, -h.bytes)
	delete(a.holds, h)
	if len(a.holds) == 0 {
		delete(b.of, h.who)
	}
	b.give()
}

// Idle marks the hold as waiting for its client.
func (h *Hold) Idle() { h.wait(time.Now()) }

// Busy marks the hold as being worked on by the server.
func (h *Hold) Busy() { h.wait(time.Time{}) }

func (h *Hold) wait(since time.Time) {
	if h != nil {
		h.budget.mu.Lock()
		defer h.budget.mu.Unlock()
		h.since = since
	}
}

// Force adds memory that is already in use, or releases some.
func (h *Hold) Force(bytes int64) {
	if h != nil {
		h.budget.mu.Lock()
		defer h.budget.mu.Unlock()
		h.budget.add(h, bytes)
		h.budget.give()
	}
}

// Grow waits until it can add that many bytes. The error is Unavailable, or the context's.
func (h *Hold) Grow(ctx context.Context, bytes int64) error {
	if h == nil || bytes <= 0 {
		return nil
	}
	return h.claim(ctx, bytes)
}

// TryGrow is Grow if it need not wait, and returns false otherwise.
func (h *Hold) TryGrow(bytes int64) bool {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 || b.used+bytes > b.limits.Total || h.bytes+bytes > b.limits.Total/2 {
		return false
	}
	b.add(h, bytes)
	return true
}

// Settle waits until the budget is not exceeded. It is for memory that was added with Force.
func (h *Hold) Settle(ctx context.Context) error {
	if h == nil {
		return nil
	}
	return h.claim(ctx, 0)
}

func (h *Hold) claim(ctx context.Context, bytes int64) error {
	b := h.budget
	if bytes > 0 && bytes > h.Left() {
		return entity.Errorf(entity.Invalid, "the request and its reply need more than the limit of %d MiB of memory",
			b.limits.Total/2>>20)
	}
	b.mu.Lock()
	c := &claim{hold: h, bytes: bytes, given: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.give()
	select {
	case <-c.given: // the usual case, without a timer
		b.mu.Unlock()
		return nil
	default:
	}
	since := h.since
	if since.IsZero() {
		h.since = time.Now()
	}
	b.mu.Unlock()
	defer h.wait(since)
	end := time.NewTimer(b.limits.Wait)
	defer end.Stop()
	tick := time.NewTicker(max(b.limits.Grace/10, time.Millisecond))
	defer tick.Stop()
	var err error
	for err == nil {
		select {
		case <-c.given:
			return nil
		case <-tick.C:
			b.reclaim(c)
		case <-end.C:
			err = entity.Errorf(entity.Unavailable, "the controller currently has no memory for this request; try again")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.given:
		return nil
	default:
	}
	b.drop(c)
	b.give() // others may have waited behind this one
	return err
}

// Left returns how much the hold can grow: none can have more than half of all memory.
func (h *Hold) Left() int64 {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.budget.limits.Total/2 - h.bytes
}

func (b *Budget) add(h *Hold, bytes int64) {
	a := b.of[h.who]
	if a == nil || !a.holds[h] {
		return // it is closed
	}
	h.bytes += bytes
	a.used += bytes
	b.used += bytes
	b.peak = max(b.peak, b.used)
}

// held returns how much an owner holds.
func (b *Budget) held(who any) int64 {
	if a := b.of[who]; a != nil {
		return a.used
	}
	return 0
}

func (b *Budget) drop(c *claim) {
	for i, other := range b.waiting {
		if other == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return
		}
	}
}

// short reports whether the claim exceeds the share of its owner.
func (b *Budget) short(c *claim) bool {
	used := b.held(c.hold.who)
	return used > c.hold.bytes && used+c.bytes > b.limits.Share
}

// give grants claims. Of the claims that fit in the share of their owner, it takes that of the owner that holds the
// least. It stops when there is too little memory for that claim, so that smaller ones can't starve it.
func (b *Budget) give() {
	for {
		var next *claim
		for _, c := range b.waiting {
			if !b.short(c) && (next == nil || b.held(c.hold.who) < b.held(next.hold.who)) {
				next = c
			}
		}
		if next == nil || b.used+next.bytes > b.limits.Total {
			return
		}
		b.drop(next)
		b.add(next.hold, next.bytes)
		close(next.given)
	}
}

// reclaim ends a hold whose memory a claim needs: one that has waited for its client, or for memory, for longer than the
// grace. It belongs to the owner that holds the most, or to the claim's own owner if that has used up its share.
func (b *Budget) reclaim(c *claim) {
	if victim := b.victim(c); victim != nil {
		victim.end(ErrNeeded)
	}
}

// victim returns the hold that reclaim ends, or nil. An owner of less than half the average is spared: it did not use up
// the memory.
func (b *Budget) victim(c *claim) (victim *Hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	owners, least := b.of, b.average()/2
	if b.short(c) {
		owners, least = map[any]*account{c.hold.who: b.of[c.hold.who]}, 0
	}
	now := time.Now()
	for _, a := range owners {
		for h := range a.holds {
			if h == c.hold || h.bytes == 0 || a.used < least || h.since.IsZero() || now.Sub(h.since) < b.limits.Grace {
				continue
			}
			if b.before(h, victim) {
				victim = h
			}
		}
	}
	if victim != nil {
		victim.since = time.Time{} // once is enough
	}
	return victim
}

// average returns the average of what owners hold who hold anything.
func (b *Budget) average() int64 {
	n := int64(0)
	for _, a := range b.of {
		if a.used > 0 {
			n++
		}
	}
	return b.used / max(1, n)
}

// before reports whether h is to be ended before other, which may be nil.
func (b *Budget) before(h, other *Hold) bool {
	if other == nil {
		return true
	}
	mine, theirs := b.held(h.who), b.held(other.who)
	return mine > theirs || mine == theirs && h.since.Before(other.since)
}
