package users

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func EnableUserCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enable-user NAME",
		Short: "Enable a disabled user",
		Long: `Enable a disabled user, with their previous access. Enabling a user who is not disabled
has no effect.`,
		Example:     `  juju enable-user bob`,
		Annotations: cli.SeeAlso("disable-user", "users"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneUser(args); err != nil {
				return err
			}
			return cli.WithController(cmd.Context(), s, func(_ cli.Target, api usersAPI) error {
				if err := api.EnableUser(cmd.Context(), args[0]); err != nil {
					return err
				}
				s.Note("User %q enabled", args[0])
				return nil
			})
		},
	}
	s.ControllerFlag(cmd)
	return cmd
}
