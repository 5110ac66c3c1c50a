package users

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func LogoutCommand(s *cli.Session) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Log out of a controller",
		Long: `Log out of a controller: forget your user name and password until juju login. Other
clients that are logged in as the same user stay logged in.

bootstrap generates a password that is stored only on this client: change it first, or you
cannot log in again.`,
		Example: `  juju logout
  juju logout -c prod`,
		Annotations: cli.SeeAlso("login", "change-user-password", "unregister"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return logout(cmd.Context(), s, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "log out even if the generated password was never changed")
	s.ControllerFlag(cmd)
	return cmd
}

func logout(ctx context.Context, s *cli.Session, force bool) error {
	st, t, err := s.ReadTarget()
	if err != nil {
		return err
	}
	if t.Controller.Generated && !force {
		return entity.WithHint(entity.Errorf(entity.InUse,
			"preventing account loss: only this client knows the password of %s", t.Controller.User),
			"To change it first: juju change-user-password; to lose it permanently: juju logout --force")
	}
	left := 0
	err = st.Update(ctx, func(c *store.Contents) error {
		left = 0
		for name, ctrl := range c.Controllers {
			if name == t.Name {
				ctrl.User, ctrl.Password, ctrl.Generated, ctrl.Model, ctrl.Models = "", "", false, "", map[string]string{}
			} else if ctrl.User != "" {
				left++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch left {
	case 0:
		s.Note("Logged out. You are no longer logged into any controllers.")
	case 1:
		s.Note("Logged out. You are still logged into 1 controller.")
	default:
		s.Note("Logged out. You are still logged into %d controllers.", left)
	}
	return nil
}
