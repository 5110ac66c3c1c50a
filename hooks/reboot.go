package hooks

import (
	"context"
	"errors"
	"fmt"

	"juju/state/entity"
)

// A Reboot is when a hook's requested reboot happens.
type Reboot int

// When a hook wants that.
const (
	NoReboot        Reboot = iota
	RebootAfterHook        // when the hook has succeeded
	RebootNow              // at once; then the hook runs again
)

// ErrRebootNow is the error of a hook that was killed because it called juju-reboot --now. It has
// neither succeeded nor failed: it is rerun after the reboot.
var ErrRebootNow = errors.New("the hook waits for the machine's restart")

// errRebooting is the cancellation cause of such a hook's context. The hook gets no grace period.
var errRebooting = fmt.Errorf("%w: %w", ErrRebootNow, ErrAbort)

// Reboot returns the reboot that the hook has requested so far.
func (c *Context) Reboot() Reboot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reboot
}

// RequestReboot requests a reboot. With now it kills the hook and does not return until it is dead.
func (c toolContext) RequestReboot(ctx context.Context, now bool) error {
	switch {
	case c.isTask():
		//lint:ignore ST1005 Juju's words
		return errors.New("juju-reboot is not supported when running an action.")
	case !c.params.CanReboot:
		return entity.WithHint(fmt.Errorf("cannot reboot machine %s: its cloud can't restart machines",
			c.params.Machine),
			"restart it by hand, and then: juju resolved %s", c.params.Unit)
	}
	c.mu.Lock()
	if c.reboot = RebootAfterHook; now {
		c.reboot = RebootNow
	}
	c.mu.Unlock()
	if !now {
		return nil
	}
	c.abort()
	<-ctx.Done() // the hook must not go on
	return ErrRebootNow
}
