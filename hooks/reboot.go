package hooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

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

var jujuRebootInfo = commandInfo{
	purpose: "Reboot the host machine.",
	details: `The machine restarts after the hook has succeeded; then the unit goes on. With
--now the hook is killed, the machine restarts at once, and then the hook runs
again: a hook that did its work must not ask a second time. All units of the
machine let their hooks finish first, and run none until it is back.

It works in hooks, not in actions. It fails where the cloud can't restart a
machine, as on the cloud local, whose machines are the host.
`,
	examples: []string{"juju-reboot", "juju-reboot --now"},
	make:     func() command { return &jujuReboot{} },
}

type jujuReboot struct{ now bool }

func (t *jujuReboot) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.now, "now", false, "reboot immediately, killing the invoking process")
}

func (t *jujuReboot) init(_ *Context, args []string) error { return checkEmpty(args) }

func (t *jujuReboot) run(ctx context.Context, run *toolRun) error {
	hook := run.hook
	switch {
	case hook.isTask():
		//lint:ignore ST1005 Juju's words
		return errors.New("juju-reboot is not supported when running an action.")
	case !hook.params.CanReboot:
		return entity.WithHint(fmt.Errorf("cannot reboot machine %s: its cloud can't restart machines",
			hook.params.Machine),
			"restart it by hand, and then: juju resolved %s", hook.params.Unit)
	}
	hook.mu.Lock()
	if hook.reboot = RebootAfterHook; t.now {
		hook.reboot = RebootNow
	}
	hook.mu.Unlock()
	if !t.now {
		return nil
	}
	hook.abort()
	<-ctx.Done() // the hook must not go on
	return ErrRebootNow
}
