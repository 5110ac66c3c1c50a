package services

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func SetApplicationBaseCommand(s *cli.Session) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:     "set-application-base SERVICE BASE",
		Aliases: []string{"set-series"},
		Short:   "Set the base of a service's new units",
		Long: `Set the base of new units of a service and of the subordinates that run beside them.
Existing units keep theirs: to move the service, add units and destroy the old ones. BASE
is a base such as ubuntu@24.04, or its series.

The cloud must have the base, and the charms of the service and its subordinates must
support it. --force skips these checks; units may then fail, on a machine for which the
cloud has no image, or in a hook.`,
		Example: `  juju set-application-base web ubuntu@24.04
  juju set-application-base web noble --force`,
		Annotations: cli.SeeAlso("deploy", "add-unit", "destroy-unit", "show-application"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
				return err
			}
			if len(args) == 1 {
				return cli.Usagef("no base specified")
			}
			base, err := entity.ParseBase(args[1], "")
			if err != nil {
				return cli.Usage(err)
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api baseAPI) error { return api.SetBase(ctx, args[0], base, force) })
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "allow a base that a charm does not support or the cloud does not have")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type baseAPI interface {
	SetBase(ctx context.Context, service string, base entity.Base, force bool) error
}
