package services

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func UnexposeCommand(s *cli.Session) *cobra.Command {
	var endpoints []string
	cmd := onService(s, &cobra.Command{
		Use:   "unexpose SERVICE",
		Short: "Block access from outside to a service's ports",
		Long: `Block access from outside to the ports that the units of a service open. Units can still
reach each other's ports. With --endpoints, access is blocked only to what juju expose
--endpoints has exposed for them.`,
		Example: `  juju unexpose web
  juju unexpose web --endpoints admin,metrics`,
		Annotations: cli.SeeAlso("expose"),
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		return api.Unexpose(cmd.Context(), service, endpoints...)
	})
	cmd.Flags().StringSliceVar(&endpoints, "endpoints", nil,
		"`endpoints` to unexpose, separated by commas; all by default")
	return cmd
}
