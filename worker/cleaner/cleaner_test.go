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

// fakeState has cleanups that take several passes.
type fakeState struct {
	events chan struct{}
	left   []int           // what each pass reports; 0 after the last
	due    []time.Duration // likewise
	passes []time.Duration
	began  time.Time
	err    error
}

func (s *fakeState) WatchCleanups(context.Context) (<-chan struct{}, error) { return s.events, nil }

func (s *fakeState) Cleanup(context.Context) (left int, due time.Duration, err error) {
	s.passes = append(s.passes, time.Since(s.began))
	if len(s.left) > 0 {
		left, s.left = s.left[0], s.left[1:]
	}
	if len(s.due) > 0 {
		due, s.due = s.due[0], s.due[1:]
	}
	return left, due, s.err
}

func TestCleanerRunsWhenACleanupFallsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := &fakeState{events: make(chan struct{}, 1), left: []int{0, 1, 0},
			due: []time.Duration{time.Minute, time.Minute, 5 * time.Second}, began: time.Now()}
		s.events <- struct{}{}
		if err := New(Config{API: s, Retry: 10 * time.Second})(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		want := []time.Duration{0, 60 * time.Second, 70 * time.Second, 75 * time.Second}
		if !slices.Equal(s.passes, want) {
			t.Errorf("passes at %v, want %v", s.passes, want)
		}
	})
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
