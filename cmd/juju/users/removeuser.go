package users

import (
	"context"
	"errors"
	"fmt"

	"juju/cmd/juju/cli"

	"github.com/spf13/cobra"
)

func RemoveUserCommand(s *cli.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove-user NAME",
		Short: "Remove a user permanently",
		Long: `Remove a user permanently, at once, with all rights. Models that the user owns are kept;
superusers can administer them. A user who is added later under the name is another one,
with none of these rights and models.

The last superuser who can log in cannot be removed.`,
		Example: `  juju remove-user bob
  juju remove-user bob -y`,
		Annotations: cli.SeeAlso("disable-user", "add-user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneUser(args); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithController(ctx, s, func(t cli.Target, api usersAPI) error {
				if !yes {
					if err := confirmRemoval(ctx, s, args[0], t.Name); err != nil {
						return err
					}
				}
				if err := api.RemoveUser(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Stdout, "User %q removed\n", args[0])
				return err
			})
		},
	}
	cli.YesFlag(cmd, &yes)
	s.ControllerFlag(cmd)
	return cmd
}

func confirmRemoval(ctx context.Context, s *cli.Session, user, controller string) error {
	answer, err := s.Ask(ctx,
		fmt.Sprintf("WARNING! This command will permanently archive the user %q on the %q\ncontroller.\n\n"+
			"This action is irreversible. If you wish to temporarily disable the\n"+
			"user please use the `juju disable-user` command. See\n"+
			"`juju help disable-user` for more details.\n\nContinue (y/N)? ", user, controller))
	if err != nil {
		return err
	}
	if !cli.IsYes(answer) {
		return errors.New("user deletion aborted")
	}
	return nil
}
