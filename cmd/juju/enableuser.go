package main

import (
	"github.com/spf13/cobra"
)

func enableUserCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enable-user NAME",
		Short: "Enable a disabled user",
		Long: `Enable a user that was disabled, with the access they had. Enabling a user who is not
disabled does nothing.`,
		Example:     `  juju enable-user bob`,
		Annotations: seeAlso("disable-user", "users"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneUser(args); err != nil {
				return err
			}
			return withController(cmd.Context(), s, func(_ target, api usersAPI) error {
				if err := api.EnableUser(cmd.Context(), args[0]); err != nil {
					return err
				}
				s.note("User %q enabled", args[0])
				return nil
			})
		},
	}
	s.controllerFlag(cmd)
	return cmd
}
