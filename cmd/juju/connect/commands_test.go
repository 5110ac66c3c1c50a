package connect_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/controllers"
	"juju/cmd/juju/services"
	"juju/cmd/juju/status"
)

// newUser returns a user of some commands that connect.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			controllers.DestroyEnvironmentCommand(s), services.ExposeCommand(s), status.StatusCommand(s),
		}
	})
}
