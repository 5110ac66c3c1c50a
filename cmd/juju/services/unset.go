package services

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func UnsetCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unset SERVICE KEY...",
		Short: "Reset settings of a service to their defaults",
		Long: `Reset settings of a service to the charm's defaults, or to no value if the charm has no
default.`,
		Example:     `  juju unset web title port`,
		Annotations: cli.SeeAlso("set", "get", "config"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
				return err
			}
			if err := optionNames(args[1:]); err != nil {
				return err
			}
			return cli.WithModel(cmd.Context(), s, func(api setAPI) error {
				return unsetOptions(cmd.Context(), api, args[0], args[1:])
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
