package services

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func UnexposeCommand(s *cli.Session) *cobra.Command {
	return onService(s, &cobra.Command{
		Use:   "unexpose SERVICE",
		Short: "Block access from outside to a service's ports",
		Long: `Block access from outside to the ports that the units of a service open. Units can still
reach each other's ports.`,
		Example:     `  juju unexpose web`,
		Annotations: cli.SeeAlso("expose"),
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		return api.Unexpose(cmd.Context(), service)
	})
}
