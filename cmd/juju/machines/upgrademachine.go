package machines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func UpgradeMachineCommand(s *cli.Session) *cobra.Command {
	u := &upgradeMachine{Session: s}
	cmd := &cobra.Command{
		Use:     "upgrade-machine MACHINE prepare|complete [BASE]",
		Aliases: []string{"upgrade-series"},
		Short:   "Prepare or complete an operating system upgrade of a machine",
		Long: `Prepare a machine for the upgrade of its operating system to BASE, such as ubuntu@24.04,
or its series; you upgrade it yourself, and then complete the upgrade.

prepare asks for confirmation, and has each unit on the machine run its hook
pre-series-upgrade. From then on the units run no hooks and no actions, and the machine
gets no new units and no new containers. complete has each unit run post-series-upgrade,
and then records the machine's new base. Units without these hooks run none. Both commands
wait for the units, but not for those that are being destroyed.

If you decide against the upgrade, or it fails, use complete --keep-base: the units run
post-series-upgrade and then continue, and the machine keeps its base.

Units in containers on the machine are not paused: prepare each container separately.

The units' charms must support the base, unless --force is given. New units of the
services keep getting the services' base: juju set-application-base sets another one.`,
		Example: `  juju upgrade-machine 3 prepare ubuntu@24.04
  juju upgrade-machine 3 complete
  juju upgrade-machine 3 complete --keep-base`,
		Annotations: cli.SeeAlso("set-application-base", "show-machine", "explain", "resolved"),
		Args:        cli.AtMost(3),
		RunE:        func(cmd *cobra.Command, args []string) error { return u.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&u.force, "force", false, "with prepare: allow a base that a unit's charm does not support")
	cmd.Flags().BoolVar(&u.keep, "keep-base", false, "with complete: the operating system was not upgraded")
	cmd.Flags().DurationVar(&u.timeout, "timeout", wait.DefaultWait, "how long to wait for the units")
	cli.YesFlag(cmd, &u.yes)
	s.ModelFlag(cmd)
	return cmd
}

type upgradeMachine struct {
	*cli.Session
	force, keep, yes bool
	timeout          time.Duration
}

type upgradeMachineAPI interface {
	wait.StatusAPI
	PrepareUpgrade(ctx context.Context, machine string, base entity.Base, force bool) error
	CompleteUpgrade(ctx context.Context, machine string, keep bool) error
}

func (u *upgradeMachine) run(ctx context.Context, args []string) error {
	base, err := u.parse(args)
	if err != nil {
		return err
	}
	id := args[0]
	return cli.WithModel(ctx, u.Session, func(api upgradeMachineAPI) (err error) {
		next := "Machine " + id + " has its new base."
		if u.keep {
			next = "Machine " + id + " keeps its base."
		}
		if args[1] == "prepare" {
			if err := u.confirm(ctx, id, base); err != nil {
				return err
			}
			err = api.PrepareUpgrade(ctx, id, base, u.force)
			next = "Upgrade the operating system of machine " + id + " now. Then: juju upgrade-machine " + id + " complete"
		} else {
			err = api.CompleteUpgrade(ctx, id, u.keep)
		}
		if err != nil {
			return err
		}
		if err := wait.Until(ctx, u.Session, api, wait.Condition{Upgrading: id}, u.timeout); err != nil {
			return err
		}
		u.Note("%s", next)
		return nil
	})
}

// parse checks the arguments, and returns the base that prepare takes.
func (u *upgradeMachine) parse(args []string) (base entity.Base, err error) {
	if err := cli.CheckMachines(args[:min(1, len(args))]); err != nil {
		return base, err
	}
	switch {
	case len(args) == 1 || args[1] != "prepare" && args[1] != "complete":
		return base, cli.Usagef("after the machine, say prepare or complete")
	case u.timeout <= 0:
		return base, cli.Usagef("--timeout must be positive")
	case args[1] == "complete" && len(args) == 3:
		return base, cli.Usagef("complete takes no base")
	case args[1] == "complete" && u.force:
		return base, cli.Usagef("complete takes no --force")
	case args[1] == "complete":
		return base, nil
	case len(args) == 2:
		return base, cli.Usagef("no base specified")
	case u.keep:
		return base, cli.Usagef("prepare takes no --keep-base")
	}
	if base, err = entity.ParseBase(args[2], ""); err != nil {
		return base, cli.Usage(err)
	}
	return base, nil
}

// confirm asks before the machine is locked, as Juju does.
func (u *upgradeMachine) confirm(ctx context.Context, id string, base entity.Base) error {
	if u.yes {
		return nil
	}
	answer, err := u.Ask(ctx, fmt.Sprintf("WARNING: The units on machine %s will run no hooks and no actions until you have\n"+
		"upgraded its operating system to %s and completed the upgrade.\n\nContinue (y/N)? ", id, base.Short()))
	if err == nil && !cli.IsYes(answer) {
		err = errors.New("upgrade aborted")
	}
	return err
}
