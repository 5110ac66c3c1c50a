package cleaner

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/worker"
)

// fakeState has cleanups that take a number of passes each.
type fakeState struct {
	events chan struct{}
	left   []int // what the passes report in turn; 0 for ever after
	passes []time.Duration
	began  time.Time
	err    error
}

func (s *fakeState) WatchCleanups(context.Context) (<-chan struct{}, error) { return s.events, nil }

func (s *fakeState) Cleanup(context.Context) (int, error) {
	s.passes = append(s.passes, time.Since(s.began))
	if len(s.left) == 0 {
		return 0, s.err
	}
	left := s.left[0]
	s.left = s.left[1:]
	return left, s.err
}

func TestCleanerRepeatsOnlyWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := &fakeState{events: make(chan struct{}), left: []int{0, 2, 1}, began: time.Now()}
		go func() {
			s.events <- struct{}{}
			time.Sleep(time.Minute)
			s.events <- struct{}{}
		}()
		if err := New(Config{API: s, Retry: 10 * time.Second})(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		want := []time.Duration{0, 60 * time.Second, 70 * time.Second, 80 * time.Second}
		if !slices.Equal(s.passes, want) {
			t.Errorf("passes at %v, want %v", s.passes, want)
		}
	})
}

func TestCleanerFails(t *testing.T) {
	no := errors.New("no")
	s := &fakeState{events: make(chan struct{}, 1), err: no}
	s.events <- struct{}{}
	if err := New(Config{API: s})(t.Context()); !errors.Is(err, no) {
		t.Errorf("got %v, want state's error", err)
	}
	close(s.events)
	if err := New(Config{API: s})(t.Context()); !errors.Is(err, worker.ErrWatchEnded) {
		t.Errorf("got %v, want ErrWatchEnded", err)
	}
}
