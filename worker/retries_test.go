package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// What has failed waits, twice as long each time. Other work does not wait for it, and what was not there in a pass is
// forgotten.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Retries[string]{First: time.Second, Longest: 3 * time.Second}
		asks := func(work string, left, pause time.Duration) {
			t.Helper()
			if l, p := r.Ask("a", work); l != left || p != pause {
				t.Errorf("%s waits for %v, and then for %v; want %v and %v", work, l, p, left, pause)
			}
		}
		fails := func(work string) {
			r.Begin()
			_, pause := r.Ask("a", work)
			r.Failed("a", work, pause)
		}
		r.Begin()
		asks("attach", 0, time.Second)
		for _, pause := range []time.Duration{1, 2, 3, 3} {
			fails("attach")
			time.Sleep(pause*time.Second - time.Nanosecond)
			r.Begin()
			asks("attach", time.Nanosecond, min(2*pause, 3)*time.Second)
			time.Sleep(time.Nanosecond)
			r.Begin()
			asks("attach", 0, min(2*pause, 3)*time.Second)
		}
		fails("attach")
		r.Begin()
		asks("detach", 0, time.Second)
		r.Begin()
		asks("attach", 0, time.Second) // it was not there in the last pass
	})
	for _, one := range [][3]time.Duration{{0, 0, 0}, {0, 2, 2}, {2, 0, 2}, {2, 3, 2}, {3, 2, 2}} {
		if got := Sooner(one[0], one[1]); got != one[2] {
			t.Errorf("the sooner of %v and %v is %v", one[0], one[1], got)
		}
	}
}
