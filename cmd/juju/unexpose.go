package main

import "github.com/spf13/cobra"

func unexposeCommand(s *session) *cobra.Command {
	return onService(s, &cobra.Command{
		Use:     "unexpose SERVICE",
		Short:   "Undo expose",
		Long:    `Close to the world again what expose has opened. The units' ports stay open to each other.`,
		Example: `  juju unexpose web`,
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		return api.Unexpose(cmd.Context(), service)
	})
}
