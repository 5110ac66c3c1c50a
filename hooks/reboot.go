package hooks

import (
	"context"
	"errors"
	"fmt"

	"juju/state/entity"
)

// A Reboot says when a hook wants its machine to be restarted.
type Reboot int

// When a hook wants that.
const (
	NoReboot        Reboot = iota
	RebootAfterHook        // when the hook has succeeded
	RebootNow              // at once; then the hook runs again
)

// ErrRebootNow is the error of a hook that was ended because it has called juju-reboot --now. It has
// neither succeeded nor failed: it runs again after the restart.
var ErrRebootNow = errors.New("the hook waits for the machine's restart")

// errRebooting is the cause with which the context of such a hook ends. The hook gets no time to end by
// itself.
var errRebooting = fmt.Errorf("%w: %w", ErrRebootNow, ErrAbort)

// Reboot returns when the hook wants its machine to be restarted, as far as it has said.
func (c *Context) Reboot() Reboot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reboot
}

// RequestReboot has the machine restarted. With now it ends the hook, and does not return before that.
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
