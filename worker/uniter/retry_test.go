package uniter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/hooks"
	"juju/state/entity"
)

// A retried is a unit whose start hook fails a number of times, in virtual time.
type retried struct {
	t      *testing.T
	c      *controller
	fails  int
	mu     sync.Mutex
	runs   []time.Time // of the start hook; mu guards it
	work   func(context.Context) error
	cancel context.CancelFunc
	done   chan error
}

func newRetried(t *testing.T, fails int) *retried {
	r := &retried{t: t, c: newController(), fails: fails}
	h := newNotedHost()
	h.run = func(_ context.Context, hctx *hooks.Context) error {
		if hctx.HookName() != "start" {
			return nil
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.runs = append(r.runs, time.Now())
		if len(r.runs) <= r.fails {
			return &hooks.FailedError{Hook: "start", ExitCode: 1, Reason: "exit status 1"}
		}
		return nil
	}
	r.work = New(Config{API: r.c, Leadership: r.c, Unit: entity.UnitTag("web/0"), newHost: func(Config) (*host, error) {
		return h.host(), nil
	}})
	return r
}

func (r *retried) start() {
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.done = make(chan error, 1)
	go func() { r.done <- r.work(ctx) }()
	synctest.Wait()
}

func (r *retried) stop() {
	r.cancel()
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		r.t.Errorf("the agent ended with %v", err)
	}
}

func (r *retried) wants(retries bool) {
	r.c.change(func() { r.c.retryHooks = retries })
	synctest.Wait()
}

// ran waits until all is idle, and returns when the hook has run.
func (r *retried) ran() []time.Time {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.runs)
}

// pauses checks the times between runs of the hook, within the jitter.
func (r *retried) pauses(want ...time.Duration) {
	r.t.Helper()
	runs := r.ran()
	var got []time.Duration
	for i := 1; i < len(runs); i++ {
		got = append(got, runs[i].Sub(runs[i-1]))
	}
	near := func(a, b time.Duration) bool { return a >= b*8/10 && a <= b*12/10 }
	if !slices.EqualFunc(got, want, near) {
		r.t.Errorf("the hook ran again after %v, want about %v", got, want)
	}
}

func (r *retried) failed(want bool) {
	r.t.Helper()
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if got := r.c.failure() != ""; got != want {
		r.t.Errorf("status shows the failure %q, want one: %v", r.c.failure(), want)
	}
}

// With the setting off, a failed hook waits for the user.
func TestFailedHookWaitsForTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetried(t, 1)
		r.start()
		time.Sleep(24 * time.Hour)
		r.pauses()
		r.failed(true)
		r.c.change(func() { r.c.unit.Resolved = entity.ResolvedRetry })
		r.pauses(24 * time.Hour)
		r.failed(false)
		r.stop()
	})
}

// The user's request is cleared once, before the hook runs again. The commit of that run has no request to clear.
func TestARequestToRetryIsClearedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetried(t, 1)
		var cleared []int // how often the hook had run
		r.c.onCall = func(method string, do func() error) error {
			if method == "ClearResolved" {
				r.mu.Lock()
				defer r.mu.Unlock()
				cleared = append(cleared, len(r.runs))
			}
			return do()
		}
		r.start()
		r.c.change(func() { r.c.unit.Resolved = entity.ResolvedRetry })
		if runs := len(r.ran()); runs != 2 || !slices.Equal(cleared, []int{1}) {
			t.Errorf("the hook has run %d times, the request was cleared after %v", runs, cleared)
		}
		r.stop()
	})
}

// With the setting on, it runs again after pauses that double up to five minutes.
func TestFailedHookRunsAgainByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetried(t, 9)
		r.wants(true)
		r.start()
		r.failed(true)
		time.Sleep(time.Hour)
		seconds := func(n ...int) (all []time.Duration) {
			for _, s := range n {
				all = append(all, time.Duration(s)*time.Second)
			}
			return all
		}
		r.pauses(seconds(5, 10, 20, 40, 80, 160, 300, 300, 300)...)
		r.failed(false)
		if r.c.agent.Status != entity.StatusIdle {
			t.Errorf("the agent is %v", r.c.agent)
		}
		r.stop()
	})
}

// A change of the setting takes effect at once, even if a hook has failed already. If the
// user resolves the hook it runs at once, and the pauses are short again.
func TestRetryIsTurnedOnAndOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetried(t, 5)
		r.start()
		time.Sleep(time.Hour)
		r.wants(true)
		time.Sleep(20 * time.Second) // 5 s, 10 s
		r.wants(false)
		time.Sleep(time.Hour)
		r.wants(true)
		r.c.change(func() { r.c.unit.Resolved = entity.ResolvedRetry })
		time.Sleep(time.Minute)
		runs := r.ran()
		if len(runs) != 6 {
			t.Fatalf("the hook ran %d times, want 6: at first, twice by itself, once for the user, twice by itself", len(runs))
		}
		last := runs[3:]
		for i, want := range []time.Duration{5 * time.Second, 10 * time.Second} {
			if got := last[i+1].Sub(last[i]); got < want*8/10 || got > want*12/10 {
				t.Errorf("pause %d after the user's word was %v, want about %v", i+1, got, want)
			}
		}
		r.failed(false)
		r.stop()
	})
}

// The user can skip a hook that waits for its next run.
func TestSkippedHookDoesNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetried(t, 100)
		r.wants(true)
		r.start()
		r.c.change(func() { r.c.unit.Resolved = entity.ResolvedNoHooks })
		synctest.Wait()
		r.failed(false)
		time.Sleep(time.Hour)
		r.pauses()
		r.stop()
	})
}

// Many units whose hooks fail at the same time do not retry at the same time.
func TestRetriesAreSpread(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		pause := retry{attempts: 3}.pause()
		if pause < 32*time.Second || pause > 48*time.Second {
			t.Errorf("the fourth pause is %v", pause)
		}
		seen[fmt.Sprint(pause.Round(time.Second))] = true
	}
	if len(seen) < 5 {
		t.Errorf("the pauses are %v", seen)
	}
	if pause := (retry{attempts: 1 << 30}).pause(); pause > lastRetry {
		t.Errorf("the last pause is %v", pause)
	}
}
