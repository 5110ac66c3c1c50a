package main

import (
	"github.com/spf13/cobra"
)

func disableUserCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disable-user NAME",
		Short: "Keep a user out",
		Long: `Keep a user out, until they are enabled again. What they are doing just now ends at
once: open connections are good for nothing any more. What they had been granted
is kept.

The last superuser who can log in cannot be disabled.`,
		Example: `  juju disable-user bob`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneUser(args); err != nil {
				return err
			}
			return s.withController(cmd.Context(), func(_ target, api controllerAPI) error {
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
