package users

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
)

func ChangeUserPasswordCommand(s *cli.Session) *cobra.Command {
	c := &changeUserPassword{Session: s}
	cmd := &cobra.Command{
		Use:   "change-user-password [NAME]",
		Short: "Change a password",
		Long: `Change your own password or, as a superuser, another user's. The command prompts for the
new password, or reads it from standard input.

--reset invalidates the user's password and closes their connections at once. The command
prints a registration string, with which the user sets a new password.`,
		Example: `  juju change-user-password
  juju change-user-password bob
  juju change-user-password bob --reset`,
		Annotations: cli.SeeAlso("login", "register", "add-user"),
		RunE:        func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&c.reset, "reset", false, "make the password invalid, and print a registration string")
	cmd.Flags().BoolVar(&c.noPrompt, "no-prompt", false, "do not prompt: read the password, one line, from standard input")
	s.ControllerFlag(cmd)
	return cmd
}

type changeUserPassword struct {
	*cli.Session
	reset, noPrompt bool
}

func (c *changeUserPassword) run(ctx context.Context, args []string) error {
	if err := atMostOneUser(args); err != nil {
		return err
	}
	return cli.WithController(ctx, c.Session, func(t cli.Target, api usersAPI) error {
		name := append(args, t.Controller.User)[0]
		own := strings.EqualFold(name, t.Controller.User)
		switch {
		case c.reset && own:
			return cli.WithHint(errors.New("you cannot reset your own password"), "To change it: juju change-user-password")
		case c.reset:
			return c.resetPassword(ctx, t, api, name)
		}
		return c.setPassword(ctx, t, api, name, own)
	})
}

func (c *changeUserPassword) resetPassword(ctx context.Context, t cli.Target, api usersAPI, name string) error {
	key, err := api.ResetPassword(ctx, name)
	if err != nil {
		return err
	}
	c.Note("Password for %q has been reset.", name)
	token, err := token(t, name, key)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "Ask the user to run:\n     juju register %s\n", token)
	return err
}

func (c *changeUserPassword) setPassword(ctx context.Context, t cli.Target, api usersAPI, name string, own bool) error {
	var password string
	var err error
	if c.noPrompt {
		if password, err = c.ReadLine(); err == nil && password == "" {
			err = errors.New("password cannot be empty")
		}
	} else {
		password, err = c.NewPassword(ctx, "new password: ", "type new password again: ")
	}
	if err != nil {
		return err
	}
	if err := api.SetPassword(ctx, name, password); err != nil {
		return err
	}
	if !own {
		c.Note("Password for %q has been changed.", name)
		return nil
	}
	err = noteAccount(ctx, c.Session, t.Name, func(ctrl *store.Controller) {
		ctrl.Password, ctrl.Generated = password, false
	})
	if err != nil {
		return cli.AlsoHint(err, "The password was changed, but not stored on this client. To store it: juju login -c %s",
			t.Name)
	}
	c.Note("Your password has been changed.")
	return nil
}

// noteAccount changes a controller in the store.
func noteAccount(ctx context.Context, s *cli.Session, name string, change func(*store.Controller)) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	return st.Update(ctx, func(c *store.Contents) error {
		if ctrl, ok := c.Controllers[name]; ok {
			change(ctrl)
		}
		return nil
	})
}
