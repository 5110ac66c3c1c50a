package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Pauses double up to the longest, and begin anew after a reset. One that is interrupted says why.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Second, 5*time.Second)
		slept := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := b.Sleep(t.Context()); err != nil {
				t.Error(err)
			}
			if got := time.Since(began); got != want {
				t.Errorf("it slept for %v, want %v", got, want)
			}
		}
		for _, want := range []time.Duration{1, 2, 4, 5, 5} {
			slept(want * time.Second)
		}
		b.Reset()
		slept(time.Second)

		why := errors.New("it ends")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		began := time.Now()
		for range 2 { // the second one does not begin
			if err := Sleep(ctx, time.Hour); err != why || time.Since(began) != time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
	})
}
