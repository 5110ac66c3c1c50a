package main

import "github.com/spf13/cobra"

func unexposeCommand(s *session) *cobra.Command {
	return onService(s, &cobra.Command{
		Use:   "unexpose SERVICE",
		Short: "Close a service's ports to the world",
		Long: `Close to the world again the ports that expose opened. Units can still reach each other's
ports.`,
		Example: `  juju unexpose web`,
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		return api.Unexpose(cmd.Context(), service)
	})
}
