package services

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func BindCommand(s *cli.Session) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "bind SERVICE [SPACE] [ENDPOINT=SPACE...]",
		Short: "Bind a service, or some of its endpoints, to spaces",
		Long: `Bind a service, or some of its endpoints, to spaces. Units then publish their addresses in
these spaces, which network-get prints too. SPACE is the default for all endpoints that
are not bound explicitly; endpoints that had the old default get the new one. Endpoints
bound to alpha use the preferred address of their machine.

Units must be on machines with an address in the space. With --force, the other units use
the preferred address of their machine.`,
		Example: `  juju bind web dmz
  juju bind web db=internal
  juju bind web dmz db=internal`,
		Annotations: cli.SeeAlso("spaces", "deploy", "show-space"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
				return err
			}
			bindings, err := cli.ParseBindings(args[1:])
			if err == nil && len(bindings) == 0 {
				err = cli.Usagef("no bindings specified")
			}
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api bindAPI) error { return api.Bind(ctx, args[0], bindings, force) })
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also bind to spaces that are not available to all existing units")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type bindAPI interface {
	Bind(ctx context.Context, service string, bindings map[string]string, force bool) error
}
