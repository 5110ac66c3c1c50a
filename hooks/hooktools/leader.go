package hooktools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"juju/state/limits"
)

var isLeaderInfo = commandInfo{
	purpose: "Print whether the unit is the leader of its service.",
	details: `Print True if the unit is the leader and is guaranteed to remain the leader for 30
seconds. No other unit of the service is the leader at the same time. Call it again
during work that takes longer.
`,
	examples: []string{"is-leader", "is-leader --format json"},
	make:     func() command { return &isLeader{} },
}

type isLeader struct{ out outputFlags }

func (t *isLeader) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *isLeader) init(_ Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *isLeader) run(ctx context.Context, run *toolRun) error {
	leads, err := run.hook.IsLeader(ctx)
	if err != nil {
		return fmt.Errorf("leadership status unknown: %w", err)
	}
	return t.out.write(run, leads)
}

var leaderGetInfo = commandInfo{
	args:    "[<key>|-]",
	purpose: "Print what the leader has set for all units of the service.",
	details: `Print the value of the key or, if the key is - or not given, all settings. A key
that is not set prints nothing; that is no error.
`,
	examples: []string{"leader-get", "leader-get primary --format json"},
	make:     func() command { return &leaderGet{} },
}

type leaderGet struct {
	out outputFlags
	key string
}

func (t *leaderGet) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *leaderGet) init(_ Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if len(args) == 0 {
		return nil
	}
	if t.key = args[0]; t.key == "-" {
		t.key = ""
	}
	if strings.Contains(t.key, "=") {
		return fmt.Errorf("invalid key %q", t.key)
	}
	return checkEmpty(args[1:])
}

func (t *leaderGet) run(ctx context.Context, run *toolRun) error {
	settings, err := run.hook.LeaderSettings(ctx)
	if err != nil {
		return fmt.Errorf("cannot read leadership settings: %w", err)
	}
	if t.key == "" {
		return t.out.write(run, settings)
	}
	if value, ok := settings[t.key]; ok {
		return t.out.write(run, value)
	}
	return t.out.write(run, nil)
}

var leaderSetInfo = commandInfo{
	args:    "<key>=<value> [<key>=<value> ...]",
	purpose: "Set values that all units of the service can read.",
	details: `Only the leader can do this. The settings are written immediately, and remain even if
the hook fails. An empty value deletes the key. The hook leader-settings-changed tells
the other units, which read the settings with leader-get.
`,
	examples: []string{"leader-set primary=10.0.0.7", "leader-set token="},
	make:     func() command { return &leaderSet{} },
}

type leaderSet struct{ settings map[string]string }

func (t *leaderSet) flags(*pflag.FlagSet) {}

func (t *leaderSet) init(_ Context, args []string) (err error) {
	if t.settings, err = keyValues(args); err != nil {
		return err
	}
	return limits.CheckRelationSettings(t.settings)
}

func (t *leaderSet) run(ctx context.Context, run *toolRun) error {
	if err := run.hook.SetLeaderSettings(ctx, t.settings); err != nil {
		return fmt.Errorf("cannot write leadership settings: cannot write settings: %w", err)
	}
	return nil
}

var applicationVersionSetInfo = commandInfo{
	args:    "<version>",
	purpose: "Set the version that status shows for the service.",
	details: `This is the version of the software that the charm runs, not that of the charm. It is
set immediately, and remains even if the hook fails.
`,
	examples: []string{"application-version-set 8.0.36"},
	shown:    true,
	make:     func() command { return &applicationVersionSet{} },
}

type applicationVersionSet struct{ version string }

func (t *applicationVersionSet) flags(*pflag.FlagSet) {}

func (t *applicationVersionSet) init(_ Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no version specified")
	}
	t.version = args[0]
	if err := limits.Name.CheckText(t.version); err != nil {
		return err
	}
	return checkEmpty(args[1:])
}

func (t *applicationVersionSet) run(ctx context.Context, run *toolRun) error {
	return run.hook.SetWorkloadVersion(ctx, t.version)
}
