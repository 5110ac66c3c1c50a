package main

import (
	"context"

	"github.com/spf13/cobra"
)

func showUserCommand(s *session) *cobra.Command {
	var output output
	var exact bool
	cmd := &cobra.Command{
		Use:   "show-user [NAME]",
		Short: "Show a user",
		Long:  "Show a user of a controller: by default, the user that you are logged in as.",
		Example: `  juju show-user
  juju show-user bob --format json`,
		Annotations: seeAlso("users", "whoami"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := atMostOneUser(args); err != nil {
				return err
			}
			if err := checkFormat(output.format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return withController(ctx, s, func(t target, api usersAPI) error {
				return showUser(ctx, s, api, append(args, t.ctrl.User)[0], exact, output)
			})
		},
	}
	cmd.Flags().BoolVar(&exact, "exact-time", false, "show exact times")
	output.flags(cmd, "yaml", "yaml", "json")
	s.controllerFlag(cmd)
	return cmd
}

func showUser(ctx context.Context, s *session, api usersAPI, name string, exact bool, o output) error {
	info, err := api.User(ctx, name)
	if err != nil {
		return err
	}
	text, err := encode(o.format, times{exact, s.now()}.user(info))
	if err != nil {
		return err
	}
	return s.write(o, text)
}
