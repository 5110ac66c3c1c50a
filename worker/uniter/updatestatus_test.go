package uniter

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/doc/tools/verify"
	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
)

// update-status runs while a unit has nothing else to do, as often as the model says. A change
// of the setting takes effect at once.
func TestUpdateStatusRunsAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := newController(), newNotedHost()
		var mu sync.Mutex
		var at []time.Time
		h.has.Files = map[string]bool{"update-status": true}
		h.run = func(_ context.Context, hctx *hooks.Context) error {
			if hctx.HookName() == "update-status" {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Now())
			}
			return nil
		}
		work := New(Config{API: c, Leadership: c, Unit: entity.UnitTag("web/0"), newHost: func(Config) (*host, error) {
			return h.host(), nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- work(ctx) }()
		// runs returns how often the hook runs in a time, and checks the pauses.
		runs := func(in, interval time.Duration) int {
			mu.Lock()
			at = []time.Time{time.Now()}
			mu.Unlock()
			time.Sleep(in)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			pauses := map[time.Duration]bool{}
			for i := 1; i < len(at); i++ {
				pause := at[i].Sub(at[i-1])
				if i > 1 && (pause < interval*8/10 || pause > interval*12/10) {
					t.Errorf("update-status runs %v after the one before, the interval is %v", pause, interval)
				}
				pauses[pause] = true
			}
			if len(at) > 5 && len(pauses) < 3 {
				t.Errorf("the pauses are the same: %v", pauses)
			}
			return len(at) - 1
		}
		if n := runs(time.Hour, 5*time.Minute); n < 9 || n > 15 {
			t.Errorf("update-status ran %d times in an hour", n)
		}
		statuses := len(c.statuses)
		c.change(func() { c.updateStatus = "1m" })
		if n := runs(time.Hour, time.Minute); n < 48 || n > 76 {
			t.Errorf("update-status ran %d times in an hour, once a minute", n)
		}
		if len(c.statuses) != statuses {
			t.Errorf("update-status is announced: %q", c.statuses[statuses:])
		}
		c.change(func() { c.updateStatus = "60m" })
		if n := runs(time.Hour, time.Hour); n > 1 {
			t.Errorf("update-status ran %d times in an hour, once an hour", n)
		}
		c.change(func() { c.unit.ServiceLife = entity.Dying; c.unit.Subordinates = []string{"log/0"} })
		synctest.Wait()
		c.change(func() { c.updateStatus = "1m" })
		if n := runs(time.Hour, time.Minute); n > 0 {
			t.Errorf("update-status ran %d times in a Dying unit", n)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// A charm without update-status is never woken up for it.
func TestNoUpdateStatusWithoutTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := newController(), newNotedHost()
		var ran []string
		h.run = func(_ context.Context, hctx *hooks.Context) error {
			ran = append(ran, hctx.HookName())
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		work := New(Config{API: c, Leadership: c, Unit: entity.UnitTag("web/0"), newHost: func(Config) (*host, error) {
			return h.host(), nil
		}})
		go func() { done <- work(ctx) }()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if want := []string{"install", "config-changed", "start"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
		cancel()
		<-done
	})
}

// A charm that has made its hooks unreadable is not in the way when its unit is removed by force.
func TestUnreadableHooksDoNotKeepAUnit(t *testing.T) {
	c, h := newController(), newNotedHost()
	h.hasErr = os.ErrPermission
	c.unit.Life, c.unit.Strength = entity.Dying, entity.Force
	work := New(Config{API: c, Leadership: c, Unit: entity.UnitTag("web/0"), newHost: func(Config) (*host, error) {
		return h.host(), nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	defer cancel()
	if err := work(ctx); !errors.Is(err, worker.ErrTerminateAgent) || c.unit.Life != entity.Dead {
		t.Errorf("the unit is %s, its agent ended with %v", c.unit.Life, err)
	}
}
