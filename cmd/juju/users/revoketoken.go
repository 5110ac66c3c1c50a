package users

import (
	"juju/cmd/juju/cli"

	"github.com/spf13/cobra"
)

func RevokeTokenCommand(s *cli.Session) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "revoke-token NAME",
		Short: "Revoke a token",
		Long: `Revoke a token that you created: requests with it are refused from now on, and event
streams opened with it end. With --user, superusers can revoke a token of another user.`,
		Example: `  juju revoke-token grafana
  juju revoke-token ci --user bob`,
		Annotations: cli.SeeAlso("tokens", "create-token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := oneToken(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithController(ctx, s, func(_ cli.Target, api tokensAPI) error {
				if err := api.RevokeToken(ctx, user, name); err != nil {
					return cli.WithHint(err, "To list the tokens: juju tokens")
				}
				s.Note("Token %q is revoked.", name)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user who created the token")
	s.ControllerFlag(cmd)
	return cmd
}
