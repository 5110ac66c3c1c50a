package users

import (
	"context"
	"fmt"

	"juju/cmd/juju/cli"

	"github.com/spf13/cobra"
)

func AddUserCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "add-user NAME [DISPLAY-NAME]",
		Short: "Add a user",
		Long: `Add a user to a controller. The user can log in, but do nothing else until granted access.

The command prints a registration string, once. The user passes it to juju register and
chooses a password there. Until then anyone who has the string can become that user, so
send it over a private channel.`,
		Example: `  juju add-user bob
  juju add-user bob "Bob Dobbs" -c prod`,
		Annotations: cli.SeeAlso("register", "grant", "users", "change-user-password"),
		RunE: func(cmd *cobra.Command, args []string) error {
			displayName := ""
			if len(args) > 1 {
				args, displayName = append(args[:1:1], args[2:]...), args[1]
			}
			if err := oneUser(args); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithController(ctx, s, func(t cli.Target, api usersAPI) error {
				return addUser(ctx, s, t, api, args[0], displayName, output)
			})
		},
	}
	output.Flags(cmd, "")
	s.ControllerFlag(cmd)
	return cmd
}

func addUser(ctx context.Context, s *cli.Session, t cli.Target, api usersAPI, name, displayName string,
	output cli.Output) error {
	key, err := api.AddUser(ctx, name, displayName)
	if err != nil {
		return err
	}
	token, err := token(t, name, key)
	if err != nil {
		return cli.AlsoHint(err, "The user was added. To get another registration string: juju change-user-password %s --reset",
			name)
	}
	shown := name
	if displayName != "" {
		shown = fmt.Sprintf("%s (%s)", displayName, name)
	}
	return s.Write(output, fmt.Appendf(nil, `User %q added
Please send this command to %s:
    juju register %s

%[1]q has not been granted access to any models. You can use "juju grant" to grant access.
`, shown, name, token))
}
