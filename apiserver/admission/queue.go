package admission

import (
	"context"
	"sync"
	"time"

	"juju/state/entity"
)

// A Queue gives turns for a slow operation: hashing users' passwords. Turns are not given in order of arrival, because
// then an attacker who guesses passwords would make everyone wait. The next turn goes to the caller
//
//   - with the fewest failures on the same connection,
//   - from the address that has had the fewest turns,
//   - for the user who has had the fewest turns,
//   - and that arrived last: in a flood, those that arrived first have given up.
type Queue struct {
	max int // how many may wait; beyond that, the last in order is rejected

	mu      sync.Mutex
	free    int
	given   int // the total number of turns
	waiting []*Turn
	// Turns since the queue was last empty; see count.
	ofSource, ofUser map[string]int
}

// A Turn is a caller that waits for a turn.
type Turn struct {
	Source, User string    // the address that it comes from, and the user whose password is hashed
	Failed       int       // logins that have failed on its connection
	come         chan bool // receives true for the turn, false if the queue is full
}

// NewQueue returns a queue that gives so many turns at a time, for which at most max callers wait.
func NewQueue(turns, max int) *Queue {
	return &Queue{max: max, free: turns, ofSource: map[string]int{}, ofUser: map[string]int{}}
}

// Take waits at most wait for a turn; release ends the turn. The error is Unavailable, or the context's.
func (q *Queue) Take(ctx context.Context, wait time.Duration, t Turn) (release func(), err error) {
	t.come = make(chan bool, 1)
	q.mu.Lock()
	q.waiting = append(q.waiting, &t)
	q.give()
	if len(q.waiting) > q.max {
		worst := 0
		for i := range q.waiting {
			if !q.before(i, worst) {
				worst = i
			}
		}
		q.drop(worst).come <- false
	}
	q.mu.Unlock()
	select {
	case mine := <-t.come: // the usual case, without a timer
		if mine {
			return q.release, nil
		}
		return nil, tryAgain()
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case mine := <-t.come:
		if mine {
			return q.release, nil
		}
		err = tryAgain()
	case <-timer.C:
		err = tryAgain()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	q.leave(&t)
	return nil, err
}

func tryAgain() error { return entity.Errorf(entity.Unavailable, "try again") }

// leave stops waiting. A turn given in the meantime goes to the next.
func (q *Queue) leave(t *Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiting {
		if other == t {
			q.drop(i)
			return
		}
	}
	select {
	case mine := <-t.come:
		if mine {
			q.free++
			q.give()
		}
	default:
	}
}

// Waiting returns how many callers wait for a turn.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

func (q *Queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	q.give()
}

// give gives free turns to the next callers in order.
func (q *Queue) give() {
	for q.free > 0 && len(q.waiting) > 0 {
		best := 0
		for i := range q.waiting {
			if q.before(i, best) {
				best = i
			}
		}
		t := q.drop(best)
		q.free--
		q.given++
		q.count(q.ofSource, t.Source)
		q.count(q.ofUser, t.User)
		t.come <- true
	}
	if len(q.waiting) == 0 {
		clear(q.ofSource)
		clear(q.ofUser)
	}
}

// count counts a turn. Unauthenticated clients choose the names, and can keep the queue from ever being empty, so the
// counts are halved when there are too many: names with one turn are deleted, and the order of the others is preserved.
func (q *Queue) count(turns map[string]int, who string) {
	turns[who]++
	for len(turns) > 2*max(q.max, 1) {
		for other, n := range turns {
			if n /= 2; n == 0 {
				delete(turns, other)
			} else {
				turns[other] = n
			}
		}
	}
}

// before reports whether the i-th waiting caller precedes the j-th.
func (q *Queue) before(i, j int) bool {
	a, b := q.waiting[i], q.waiting[j]
	switch {
	case a.Failed != b.Failed:
		return a.Failed < b.Failed
	case q.ofSource[a.Source] != q.ofSource[b.Source]:
		return q.ofSource[a.Source] < q.ofSource[b.Source]
	case q.ofUser[a.User] != q.ofUser[b.User]:
		return q.ofUser[a.User] < q.ofUser[b.User]
	}
	return i > j
}

func (q *Queue) drop(i int) *Turn {
	t := q.waiting[i]
	q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
	return t
}
