package mongo

import (
	"context"
	"sync"
)

// A slotQueue hands out slots in order. The most recently used slot is handed out first: that keeps one connection
// warm, and a sequence of transactions uses only that.
type slotQueue struct {
	mu      sync.Mutex
	free    []*slot // the first is handed out next
	waiting []chan *slot
}

// acquire waits for a slot, at the front of the queue or at its end.
func (q *slotQueue) acquire(ctx context.Context, front bool) (*slot, error) {
	q.mu.Lock()
	if len(q.free) > 0 {
		s := q.free[0]
		q.free = q.free[1:]
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
	q.free = append([]*slot{s}, q.free...)
}
