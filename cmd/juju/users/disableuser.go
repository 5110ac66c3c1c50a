package users

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func DisableUserCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disable-user NAME",
		Short: "Disable a user",
		Long: `Disable a user until enable-user enables them again. The user cannot log in, and their
connections are closed at once. Their access levels are kept.

The last superuser who can log in cannot be disabled.`,
		Example:     `  juju disable-user bob`,
		Annotations: cli.SeeAlso("enable-user", "remove-user", "revoke"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneUser(args); err != nil {
				return err
			}
			return cli.WithController(cmd.Context(), s, func(_ cli.Target, api usersAPI) error {
				if err := api.DisableUser(cmd.Context(), args[0]); err != nil {
					return err
				}
				s.Note("User %q disabled", args[0])
				return nil
			})
		},
	}
	s.ControllerFlag(cmd)
	return cmd
}
