package uniter

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/hooks"
	"juju/state/entity"
)

// While the machine does not have the charm's LXD profile, the unit runs no hook of the charm, and its status says so.
func TestWaitsForTheProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := newController(), newNotedHost()
		c.unit.AwaitedProfile = "juju-m-a00000-web-1"
		var ran []string
		h.run = func(_ context.Context, hctx *hooks.Context) error {
			ran = append(ran, hctx.HookName())
			return nil
		}
		work := New(Config{API: c, Leadership: c, Unit: entity.UnitTag("web/0"), newHost: func(Config) (*host, error) {
			return h.host(), nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- work(ctx) }()
		// check checks which hooks have run, and the agent's last status.
		check := func(status string, want ...string) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			if !slices.Equal(ran, want) {
				t.Errorf("ran %q, want %q", ran, want)
			}
			last := ""
			for _, s := range c.statuses {
				if s[:len("agent")] == "agent" {
					last = s
				}
			}
			if last != status {
				t.Errorf("the agent's status is %q, want %q", last, status)
			}
		}
		const waits = "agent executing: waiting until the machine has LXD profile juju-m-a00000-web-"
		check(waits + "1")
		c.change(func() { c.unit.AwaitedProfile = "" })
		started := []string{"install", "config-changed", "start"}
		check("agent idle", started...)
		c.change(func() { c.unit.AwaitedProfile, c.unit.ServiceCharmURL = "juju-m-a00000-web-2", "local:web-2" })
		check(waits+"2", started...)
		c.change(func() { c.unit.AwaitedProfile = "" })
		check("agent idle", append(started, "upgrade-charm", "config-changed")...)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
