package users

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/connect"
	"juju/state/entity"
)

func LoginCommand(s *cli.Session) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in to a controller",
		Long: `Log in to a controller that this client knows, after juju logout or a password change. The
command prompts for the password, or reads it from standard input.

New users start with juju register.`,
		Example: `  juju login
  juju login -u bob -c prod`,
		Annotations: cli.SeeAlso("logout", "register", "change-user-password"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if user != "" && !entity.IsValidUser(user) {
				return cli.Usage(entity.InvalidUser(user))
			}
			return login(cmd.Context(), s, user)
		},
	}
	cmd.Flags().StringVarP(&user, "user", "u", "", "the user to log in as")
	s.ControllerFlag(cmd)
	return cmd
}

func login(ctx context.Context, s *cli.Session, user string) error {
	st, t, err := s.ReadTarget()
	if err != nil {
		return err
	}
	switch {
	case user == "" && t.Controller.User == "":
		if user, err = s.Ask(ctx, "username: "); err != nil {
			return err
		}
		if !entity.IsValidUser(user) {
			return entity.InvalidUser(user)
		}
	case user == "":
		user = t.Controller.User
	case t.Controller.User != "" && !strings.EqualFold(user, t.Controller.User):
		return entity.WithHint(fmt.Errorf("already logged in as %s", t.Controller.User),
			`Run "juju logout" first before attempting to log in as a different user.`)
	}
	if t.Controller.User != "" {
		conn, err := connect.Dial(ctx, s, st, t, "")
		if err == nil {
			s.Note("Welcome, %s. You are already logged into %q.", t.Controller.User, t.Name)
			return conn.Close()
		}
		if !errors.Is(err, entity.Unauthorized) {
			return err
		}
	}
	t.Controller.User = user
	t.Controller.Password, err = s.AskSecret(ctx, fmt.Sprintf("please enter password for %s on %s: ", user, t.Name))
	if err != nil {
		return err
	}
	t.Controller.Generated = false
	return enter(ctx, s, st, t)
}
