package charms_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/services"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			charms.UpgradeCharmCommand(s), charms.ResourcesCommand(s), charms.AttachResourceCommand(s),
			charms.PendingResourcesCommand(s),
			// Of other packages.
			services.ResolvedCommand(s),
		}
	})
}
