package main

import "github.com/spf13/cobra"

func exposeCommand(s *session) *cobra.Command {
	return onService(s, &cobra.Command{
		Use:   "expose SERVICE",
		Short: "Open a service's ports to the world",
		Long: `Let the world reach the ports that the units of a service open. On a cloud without a
firewall, like local, this is only recorded.`,
		Example:     `  juju expose web`,
		Annotations: seeAlso("unexpose", "status"),
	}, func(cmd *cobra.Command, api exposeAPI, service string) error {
		return api.Expose(cmd.Context(), service)
	})
}

// onService completes a command whose only argument is a service.
func onService(s *session, cmd *cobra.Command, do func(*cobra.Command, exposeAPI, string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := oneService(args); err != nil {
			return err
		}
		return s.withModel(cmd.Context(), func(api modelAPI) error { return do(cmd, api, args[0]) })
	}
	s.modelFlag(cmd)
	return cmd
}
