package services

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
	"juju/state/limits"
)

func SetMinUnitsCommand(s *cli.Session) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "set-min-units SERVICE N",
		Short: "Set the minimum number of units of a service",
		Long: `Maintain at least N units of a service. Missing units are added, now and whenever units
are destroyed; units that are being destroyed do not count. 0 removes the minimum, and
keeps the units.`,
		Example: `  juju set-min-units web 3
  juju set-min-units web 0`,
		Annotations: cli.SeeAlso("add-unit", "destroy-unit"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
				return err
			}
			if len(args) == 1 {
				return cli.Usagef("no number of units specified")
			}
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return entity.WithHint(cli.Usagef("invalid number of units %q", args[1]),
					"Specify 0 or a positive whole number: juju set-min-units SERVICE 2")
			}
			if err := limits.CheckMinUnits(n); err != nil {
				return cli.Usage(err)
			}
			if err := cli.CheckMany("units", n, force); err != nil {
				return err
			}
			return cli.WithModel(cmd.Context(), s, func(api minUnitsAPI) error { return api.SetMinUnits(cmd.Context(), args[0], n) })
		},
	}
	cli.ManyFlag(cmd, &force, "units")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type minUnitsAPI interface {
	SetMinUnits(ctx context.Context, service string, n int) error
}
