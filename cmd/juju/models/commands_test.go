package models_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/models"
	"juju/cmd/juju/services"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			models.AddModelCommand(s), models.ModelsCommand(s), models.ShowModelCommand(s),
			models.DestroyModelCommand(s), models.SetCredentialCommand(s), models.SwitchCommand(s),
			models.ModelConfigCommand(s), models.ModelDefaultsCommand(s),
			// Of other packages.
			services.SetModelConstraintsCommand(s), services.ModelConstraintsCommand(s),
		}
	})
}
