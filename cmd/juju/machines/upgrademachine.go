package machines

import (
	"context"
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
		Short:   "Prepare or complete the upgrade of a machine's operating system",
		Long: `Prepare a machine for the upgrade of its operating system to BASE, such as ubuntu@24.04,
or its series; you upgrade it yourself, and then complete the upgrade.

prepare has each unit on the machine run its hook pre-series-upgrade. From then on the units
run no hooks and no actions, and the machine gets no new units. complete has each unit run
post-series-upgrade, and then records the machine's new base. Units without these hooks run
none. Both commands wait for the units.

The charms of the units must name the base; with --force they need not. New units of the
services keep getting the services' base: juju set-application-base sets another one.`,
		Example: `  juju upgrade-machine 3 prepare ubuntu@24.04
  juju upgrade-machine 3 complete`,
		Annotations: cli.SeeAlso("set-application-base", "show-machine", "explain", "resolved"),
		Args:        cli.AtMost(3),
		RunE:        func(cmd *cobra.Command, args []string) error { return u.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&u.force, "force", false, "with prepare: also if the charm of a unit does not name the base")
	cmd.Flags().DurationVar(&u.timeout, "timeout", wait.DefaultWait, "how long to wait for the units")
	// Juju asks for confirmation.
	cmd.Flags().BoolP("yes", "y", false, "")
	cmd.Flags().Lookup("yes").Hidden = true
	s.ModelFlag(cmd)
	return cmd
}

type upgradeMachine struct {
	*cli.Session
	force   bool
	timeout time.Duration
}

type upgradeMachineAPI interface {
	wait.StatusAPI
	PrepareUpgrade(ctx context.Context, machine string, base entity.Base, force bool) error
	CompleteUpgrade(ctx context.Context, machine string) error
}

func (u *upgradeMachine) run(ctx context.Context, args []string) error {
	if err := cli.CheckMachines(args[:min(1, len(args))]); err != nil {
		return err
	}
	var base entity.Base
	switch {
	case len(args) == 1 || args[1] != "prepare" && args[1] != "complete":
		return cli.Usagef("after the machine, say prepare or complete")
	case u.timeout <= 0:
		return cli.Usagef("--timeout must be positive")
	case args[1] == "complete" && len(args) == 3:
		return cli.Usagef("complete takes no base")
	case args[1] == "prepare" && len(args) == 2:
		return cli.Usagef("no base specified")
	case args[1] == "prepare":
		var err error
		if base, err = entity.ParseBase(args[2], ""); err != nil {
			return cli.Usage(err)
		}
	}
	id := args[0]
	return cli.WithModel(ctx, u.Session, func(api upgradeMachineAPI) (err error) {
		next := "Machine " + id + " has its new base."
		if args[1] == "prepare" {
			err = api.PrepareUpgrade(ctx, id, base, u.force)
			next = "Upgrade the operating system of machine " + id + " now. Then: juju upgrade-machine " + id + " complete"
		} else {
			err = api.CompleteUpgrade(ctx, id)
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
