package hooktools

import (
	"context"

	"github.com/spf13/pflag"
)

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

func (t *jujuReboot) init(_ Context, args []string) error { return checkEmpty(args) }

func (t *jujuReboot) run(ctx context.Context, run *toolRun) error {
	return run.hook.RequestReboot(ctx, t.now)
}
