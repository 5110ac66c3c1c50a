package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A watch that ends is followed by another one, from which the next change comes.
func TestAWatchThatEndsIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, live := make(chan struct{}), make(chan struct{}, 2)
		close(ended)
		watches := []<-chan struct{}{ended, live}
		begun := 0
		c := WatchChanges(t.Context(), func(context.Context) (<-chan struct{}, error) {
			begun++
			return watches[min(begun, len(watches))-1], nil
		}, 0)
		c.Next(t.Context()) // returns because the first watch ends
		const change = time.Hour
		began := time.Now()
		time.AfterFunc(change, func() { live <- struct{}{} })
		for range 2 {
			c.Next(t.Context())
			if waited := time.Since(began); begun != 2 || waited < change {
				t.Fatalf("after %v there are %d watches, want 2 and a change after %v", waited, begun, change)
			}
			live <- struct{}{}
		}
	})
}

// A watch that fails is begun again by the next call, and not sooner than the model may be read again.
func TestAWatchThatFailsIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun []time.Duration
		start := time.Now()
		c := WatchChanges(t.Context(), func(ctx context.Context) (<-chan struct{}, error) {
			begun = append(begun, time.Since(start))
			return make(chan struct{}), errors.New("no")
		}, 0)
		for range 5 {
			c.Next(t.Context())
		}
		// The gap doubles from MinGap up to MaxGap.
		want := []time.Duration{MinGap, 3 * MinGap, 7 * MinGap, 7*MinGap + MaxGap, 7*MinGap + 2*MaxGap}
		for i := range want {
			if len(begun) != len(want) || begun[i] != want[i] {
				t.Fatalf("watches were begun after %v, want %v", begun, want)
			}
		}
	})
}

// A wait without events reads the model again after a time, if it is told to, and ends with its context.
func TestASilentWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context) (<-chan struct{}, error) { return make(chan struct{}), nil }
		start := time.Now()
		WatchChanges(t.Context(), silent, time.Minute).Next(t.Context())
		if waited := time.Since(start); waited != time.Minute+MinGap {
			t.Errorf("the model is read again after %v", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start = time.Now()
		WatchChanges(t.Context(), silent, 0).Next(ctx)
		if waited := time.Since(start); waited != time.Hour {
			t.Errorf("it returns after %v", waited)
		}
	})
}

// A bound grows with what moves, and never shrinks.
func TestBounded(t *testing.T) {
	for _, test := range []struct{ moves, ends time.Duration }{
		{0, 10 * time.Minute}, {4 * time.Minute, 10 * time.Minute}, {8 * time.Minute, 13 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ctx, moved, cancel := Bounded(t.Context(), 10*time.Minute, 5*time.Minute)
			defer cancel()
			if test.moves > 0 {
				time.AfterFunc(test.moves, moved)
			}
			<-ctx.Done()
			if took := time.Since(start); took != test.ends || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("moved after %v, it ends after %v, want %v: %v", test.moves, took, test.ends, context.Cause(ctx))
			}
		})
	}
}
