package main

import "github.com/spf13/cobra"

func unsetCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "unset SERVICE KEY...",
		Short:   "Give settings of a service their defaults again",
		Long:    `Give options of a service the charm's defaults again, or no value if it has none.`,
		Example: `  juju unset web title port`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := services(args[:min(1, len(args))]); err != nil {
				return err
			}
			if err := optionNames(args[1:]); err != nil {
				return err
			}
			return s.withModel(cmd.Context(), func(api modelAPI) error {
				return unsetOptions(cmd.Context(), api, args[0], args[1:])
			})
		},
	}
	s.modelFlag(cmd)
	return cmd
}
