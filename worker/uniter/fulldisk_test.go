package uniter

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"juju/hooks"
	"juju/state/entity"
)

// A fullRunner can begin nothing while the disk is full.
type fullRunner struct {
	runner
	full *atomic.Bool
}

func (r fullRunner) Run(ctx context.Context, hctx *hooks.Context, persist func(hooks.Process) error) error {
	if r.full.Load() {
		return &os.PathError{Op: "write", Path: "output", Err: syscall.ENOSPC}
	}
	return r.runner.Run(ctx, hctx, persist)
}

// A hook that can't begin because the disk is full is waited for, and runs once. Meanwhile the agent's status says why.
// A task fails.
func TestAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := newController(), newNotedHost()
		var full atomic.Bool
		var ran []string
		h.run = func(_ context.Context, hctx *hooks.Context) error {
			ran = append(ran, hctx.HookName())
			return nil
		}
		work := New(Config{API: c, Leadership: c, Unit: entity.UnitTag("web/0"), newHost: func(Config) (*host, error) {
			host := h.host()
			host.runner = fullRunner{host.runner, &full}
			return host, nil
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- work(ctx) }()
		settle := func() {
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		settle()
		full.Store(true)
		ran = nil
		c.change(func() { c.tasks = append(c.tasks, command("5", "true")) })
		settle()
		if task := c.tasks[0]; task.Status != entity.TaskFailed || !strings.Contains(task.Message, "no space left on device") {
			t.Errorf("the task: %+v", task)
		}
		c.change(func() { c.unit.ConfigVersion++ })
		settle()
		want := entity.Status{Status: entity.StatusExecuting,
			Message: "waiting to run config-changed hook: write output: no space left on device"}
		if c.agent.Status != want.Status || c.agent.Message != want.Message {
			t.Errorf("the agent's status is %+v", c.agent)
		}
		full.Store(false)
		settle()
		if !slices.Equal(ran, []string{"config-changed"}) || c.agent.Status != entity.StatusIdle || c.agent.Message != "" {
			t.Errorf("%q have run, the agent's status is %+v", ran, c.agent)
		}
		end := errors.New("told to stop")
		cancel(end)
		if err := <-done; !errors.Is(err, end) {
			t.Errorf("it ends with %v", err)
		}
	})
}
