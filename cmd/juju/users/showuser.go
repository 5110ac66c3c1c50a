package users

import (
	"context"

	"juju/cmd/juju/cli"

	"github.com/spf13/cobra"
)

func ShowUserCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var exact bool
	cmd := &cobra.Command{
		Use:   "show-user [NAME]",
		Short: "Show a user",
		Long:  "Show a user of a controller: by default, the user that you are logged in as.",
		Example: `  juju show-user
  juju show-user bob --format json`,
		Annotations: cli.SeeAlso("users", "whoami"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := atMostOneUser(args); err != nil {
				return err
			}
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithController(ctx, s, func(t cli.Target, api usersAPI) error {
				return showUser(ctx, s, api, append(args, t.Controller.User)[0], exact, output)
			})
		},
	}
	cmd.Flags().BoolVar(&exact, "exact-time", false, "show exact times")
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ControllerFlag(cmd)
	return cmd
}

func showUser(ctx context.Context, s *cli.Session, api usersAPI, name string, exact bool, o cli.Output) error {
	info, err := api.User(ctx, name)
	if err != nil {
		return err
	}
	text, err := cli.Encode(o.Format, times{exact, s.Now()}.user(info))
	if err != nil {
		return err
	}
	return s.Write(o, text)
}
