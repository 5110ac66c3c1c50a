package admission

import (
	"context"
	"sync"
	"time"

	"juju/state/entity"
)

// Slots limits the number of concurrent callers of something.
type Slots chan struct{}

// Take waits at most wait for a slot; release frees it. The error is Unavailable or the context's.
func (s Slots) Take(ctx context.Context, wait time.Duration) (release func(), err error) {
	release = func() { <-s }
	select {
	case s <- struct{}{}: // the usual case, without a timer
		return release, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return release, nil
	case <-timer.C:
		return nil, tryAgain()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// UserSlots count what users have in progress.
type UserSlots struct {
	mu    sync.Mutex
	count int
	users map[entity.Tag]int
}

// Take counts one more of a user until release is called. release is nil if the user has ofUser already, or all users
// together have max; mine and all are how many there were.
func (s *UserSlots) Take(user entity.Tag, ofUser, max int) (release func(), mine, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, all = s.users[user], s.count
	if mine >= ofUser || all >= max {
		return nil, mine, all
	}
	if s.users == nil {
		s.users = map[entity.Tag]int{}
	}
	s.count++
	s.users[user]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count--
		if s.users[user]--; s.users[user] == 0 {
			delete(s.users, user)
		}
	}, mine, all
}
