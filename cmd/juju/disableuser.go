package main

import (
	"github.com/spf13/cobra"
)

func disableUserCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disable-user NAME",
		Short: "Disable a user",
		Long: `Disable a user until enable-user enables them again. The user cannot log in, and their
connections end at once. They keep the access that was granted to them.

The last superuser who can log in cannot be disabled.`,
		Example:     `  juju disable-user bob`,
		Annotations: seeAlso("enable-user", "remove-user", "revoke"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneUser(args); err != nil {
				return err
			}
			return withController(cmd.Context(), s, func(_ target, api usersAPI) error {
				if err := api.DisableUser(cmd.Context(), args[0]); err != nil {
					return err
				}
				s.note("User %q disabled", args[0])
				return nil
			})
		},
	}
	s.controllerFlag(cmd)
	return cmd
}
