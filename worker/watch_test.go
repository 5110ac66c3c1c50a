package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestStringsHandlesOneEventAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan []string)
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		busy := false
		go func() {
			events <- []string{"0", "1"}
			events <- []string{"1"}
			cancel()
		}()
		err := Strings(ctx,
			func(context.Context) (<-chan []string, error) { return events, nil },
			func(_ context.Context, ids []string) error {
				if busy {
					t.Error("two events at once")
				}
				busy = true
				time.Sleep(time.Second)
				got, busy = append(got, ids...), false
				return nil
			})
		if !errors.Is(err, context.Canceled) || !slices.Equal(got, []string{"0", "1", "1"}) {
			t.Errorf("handled %q, then %v", got, err)
		}
	})
}

// Work that is not over goes on after the pause it asks for, or with the next event.
func TestNotifyAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan struct{})
		begin, pauses := time.Now(), []time.Duration{time.Minute, time.Hour, 0, 0}
		var at []time.Duration
		go func() {
			events <- struct{}{}
			time.Sleep(2 * time.Minute)
			events <- struct{}{}
			time.Sleep(48 * time.Hour)
			events <- struct{}{}
			close(events)
		}()
		err := NotifyAgain(t.Context(),
			func(context.Context) (<-chan struct{}, error) { return events, nil },
			func(context.Context) (time.Duration, error) {
				at = append(at, time.Since(begin))
				return pauses[len(at)-1], nil
			})
		want := []time.Duration{0, time.Minute, 2 * time.Minute, 48*time.Hour + 2*time.Minute}
		if !errors.Is(err, ErrWatchEnded) || !slices.Equal(at, want) {
			t.Errorf("handled at %v, then %v; want %v", at, err, want)
		}
	})
}

func TestWatchThatEnds(t *testing.T) {
	events := make(chan struct{}, 1)
	watch := func(context.Context) (<-chan struct{}, error) { return events, nil }
	handled := 0
	handle := func(context.Context) error { handled++; return nil }
	events <- struct{}{}
	close(events)
	if err := Notify(t.Context(), watch, handle); !errors.Is(err, ErrWatchEnded) || handled != 1 {
		t.Errorf("handled %d events, then %v; want 1, then ErrWatchEnded", handled, err)
	}

	// The channel is closed and the context is done: the context's cause says more.
	why := errors.New("connection lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for range 20 {
		if err := Notify(ctx, watch, handle); !errors.Is(err, why) {
			t.Fatalf("got %v, want the cause", err)
		}
	}
}

func TestWatchAndHandlerErrors(t *testing.T) {
	no := errors.New("no")
	refuse := func(context.Context) (<-chan struct{}, error) { return nil, no }
	if err := Notify(t.Context(), refuse, nil); !errors.Is(err, no) {
		t.Errorf("got %v, want the watch's error", err)
	}
	events := make(chan struct{}, 1)
	events <- struct{}{}
	err := Notify(t.Context(),
		func(context.Context) (<-chan struct{}, error) { return events, nil },
		func(context.Context) error { return no })
	if !errors.Is(err, no) {
		t.Errorf("got %v, want the handler's error", err)
	}
}

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		no := errors.New("no")
		err := Every(t.Context(), time.Minute, func(context.Context) error {
			at = append(at, time.Since(began))
			if len(at) == 3 {
				return no
			}
			return nil
		})
		if want := []time.Duration{0, time.Minute, 2 * time.Minute}; !errors.Is(err, no) || !slices.Equal(at, want) {
			t.Errorf("ran at %v, then %v", at, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if err := Every(ctx, time.Minute, func(context.Context) error { return nil }); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
