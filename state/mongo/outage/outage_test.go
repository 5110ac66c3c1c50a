package outage

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// TestAnOutageEndsWhatHangs, once it has lasted for Bound, whenever that began and whatever makes it known: a request
// that fails, or a probe that hangs too, or that the majority does not confirm.
func TestAnOutageEndsWhatHangs(t *testing.T) {
	for name, probe := range map[string]func(end <-chan struct{}) error{
		"the probe fails":      func(<-chan struct{}) error { return io.EOF },
		"the probe hangs":      func(end <-chan struct{}) error { <-end; return io.EOF },
		"a write is not timed": func(end <-chan struct{}) error { time.Sleep(20 * time.Second); return errSilent },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				end := make(chan struct{}) // of all connections
				ended := func() <-chan struct{} { mu.Lock(); defer mu.Unlock(); return end }
				o := New(Options{Probe: func() error { return probe(ended()) }, ProbeTime: 20 * time.Second, Bound: Bound, Cut: func() {
					mu.Lock()
					defer mu.Unlock()
					close(end)
					end = make(chan struct{})
				}})
				defer o.Close()
				began := time.Now()
				var requests sync.WaitGroup
				for _, after := range []time.Duration{0, 10 * time.Second, Bound - time.Millisecond} {
					requests.Go(func() {
						time.Sleep(after)
						err := o.Retry(t.Context(), func() error { <-ended(); return io.EOF })
						if took := time.Since(began); !errors.Is(err, entity.StoreAway) || took != Bound {
							t.Errorf("what began after %v: %v after %v", after, err, took)
						}
					})
				}
				requests.Go(func() {
					err := o.Finish(func() error { <-ended(); return io.EOF })
					if !errors.Is(err, entity.StoreAway) || !strings.Contains(err.Error(), "it is not known whether") {
						t.Errorf("a commit: %v", err)
					}
				})
				requests.Go(func() { // its goroutine doesn't run for a while
					err := o.Retry(t.Context(), func() error {
						time.Sleep(Bound + time.Second)
						<-ended()
						return io.EOF
					})
					if took := time.Since(began); !errors.Is(err, entity.StoreAway) || took > Bound+5*time.Second {
						t.Errorf("what is sent late: %v after %v", err, took)
					}
				})
				requests.Wait()
				if err := o.Retry(t.Context(), func() error { return nil }); !errors.Is(err, entity.StoreAway) {
					t.Errorf("later: %v", err)
				}
			})
		})
	}
}

// TestASlowRequest is no outage if a probe succeeds, nor is what fails late: a request that began before a probe that succeeds.
func TestASlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := 0
		o := New(Options{Probe: func() error { probes++; return nil }, ProbeTime: 20 * time.Second, Bound: Bound,
			Cut: func() { t.Error("connections are cut") }})
		defer o.Close()
		tries := 0
		err := o.Retry(t.Context(), func() error {
			if tries++; tries == 1 {
				time.Sleep(30 * time.Second)
				return io.EOF
			}
			return nil
		})
		if err != nil || tries != 2 || probes != 1 || !o.Since().IsZero() {
			t.Errorf("%v after %d tries, %d probes, an outage since %v", err, tries, probes, o.Since())
		}
	})
}
