package mongo

import (
	"context"
	"slices"
	"sync"

	"juju/state/mongo/servertxn"

	mgo "gopkg.in/mgo.v2"
)

// How many transactions of a database run at once. On the embedded store, more than a few do not get more done. On a
// MongoDB each of them waits for a majority most of the time, so there are as many as callers, up to a limit.
const (
	embeddedSlots = 8
	remoteSlots   = 64
)

// A slot is the right to run one transaction, and a connection for it.
type slot struct {
	session *mgo.Session       // nil while the slot is not in use for long
	server  *servertxn.Session // nil if the server has no transactions
}

// A slotQueue hands out slots to callers in order, and creates slots as needed. It prefers the most recently used slot, so
// a sequence of transactions uses a single, warm connection. Of the idle slots, only as many stay connected as the
// embedded store has in total.
type slotQueue struct {
	most    int // slots
	connect func() *mgo.Session
	begin   func() *servertxn.Session // for a new slot

	mu      sync.Mutex
	all     []*slot
	free    []*slot // the first is handed out next
	waiting []chan *slot
}

// take returns a free slot or a new one, or nil if all are in use. The caller holds mu.
func (q *slotQueue) take() (s *slot) {
	switch {
	case len(q.free) > 0:
		s, q.free = q.free[0], q.free[1:]
	case len(q.all) < q.most:
		s = &slot{server: q.begin()}
		q.all = append(q.all, s)
	default:
		return nil
	}
	if s.session == nil {
		s.session = q.connect()
	}
	return s
}

// acquire waits for a slot, at the front of the queue or at its end.
func (q *slotQueue) acquire(ctx context.Context, front bool) (*slot, error) {
	q.mu.Lock()
	if s := q.take(); s != nil {
		q.mu.Unlock()
		return s, nil
	}
	mine := make(chan *slot, 1)
	if front {
		q.waiting = append([]chan *slot{mine}, q.waiting...)
	} else {
		q.waiting = append(q.waiting, mine)
	}
	q.mu.Unlock()
	select {
	case s := <-mine:
		return s, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	for i, w := range q.waiting {
		if w == mine {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.mu.Unlock()
			return nil, context.Cause(ctx)
		}
	}
	q.mu.Unlock()
	q.release(<-mine) // it has just been handed over
	return nil, context.Cause(ctx)
}

// release hands the slot to the caller at the front of the queue.
func (q *slotQueue) release(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		q.waiting[0] <- s
		q.waiting = q.waiting[1:]
		return
	}
	q.free = slices.Insert(q.free, 0, s)
	if len(q.free) > embeddedSlots {
		q.free[embeddedSlots].disconnect()
	}
}

// disconnect gives up the slot's connection. Its session of the server stays, for when it is used again.
func (s *slot) disconnect() {
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
}

// close gives up the connections of all slots, which are no longer in use, and returns their sessions of the server.
func (q *slotQueue) close() (sessions []*servertxn.Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.all {
		s.disconnect()
		if s.server != nil && s.server.IsKnown() {
			sessions = append(sessions, s.server)
		}
	}
	return sessions
}
