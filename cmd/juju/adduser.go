package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func addUserCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add-user NAME [DISPLAY-NAME]",
		Short: "Add a user",
		Long: `Add a user to a controller. The user may log in and no more, until they are granted
something.

A registration string is printed, once. The user gives it to juju register, which
sets the password. Whoever has the string before that can become the user, so send
it where others don't read.`,
		Example: `  juju add-user bob
  juju add-user bob "Bob Dobbs" -c prod`,
		RunE: func(cmd *cobra.Command, args []string) error {
			displayName := ""
			if len(args) > 1 {
				args, displayName = append(args[:1:1], args[2:]...), args[1]
			}
			if err := oneUser(args); err != nil {
				return err
			}
			ctx := cmd.Context()
			return s.withController(ctx, func(t target, api controllerAPI) error {
				return addUser(ctx, s, t, api, args[0], displayName)
			})
		},
	}
	s.controllerFlag(cmd)
	return cmd
}

func addUser(ctx context.Context, s *session, t target, api usersAPI, name, displayName string) error {
	key, err := api.AddUser(ctx, name, displayName)
	if err != nil {
		return err
	}
	token, err := t.token(name, key)
	if err != nil {
		return alsoHint(err, "The user is added; to try again: juju change-user-password %s --reset", name)
	}
	shown := name
	if displayName != "" {
		shown = fmt.Sprintf("%s (%s)", displayName, name)
	}
	_, err = fmt.Fprintf(s.stdout, `User %q added
Please send this command to %s:
    juju register %s

%[1]q has not been granted access to any models. You can use "juju grant" to grant access.
`, shown, name, token)
	return err
}
