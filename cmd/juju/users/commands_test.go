package users_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/controllers"
	"juju/cmd/juju/offers"
	"juju/cmd/juju/users"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			users.RegisterCommand(s), users.UnregisterCommand(s), users.LoginCommand(s), users.LogoutCommand(s),
			users.WhoamiCommand(s), users.AddUserCommand(s), users.UsersCommand(s), users.ShowUserCommand(s),
			users.EnableUserCommand(s), users.DisableUserCommand(s), users.RemoveUserCommand(s),
			users.ChangeUserPasswordCommand(s), users.GrantCommand(s), users.RevokeCommand(s),
			users.CreateTokenCommand(s), users.TokensCommand(s), users.RevokeTokenCommand(s),
			// Of other packages.
			controllers.DestroyEnvironmentCommand(s), offers.RemoveOfferCommand(s),
		}
	})
}
