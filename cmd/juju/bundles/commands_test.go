package bundles_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/bundles"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/offers"
	"juju/cmd/juju/services"
	"juju/cmd/juju/status"
	"juju/cmd/juju/storage"
	"juju/cmd/juju/users"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			bundles.ApplyCommand(s), bundles.DiffCommand(s), bundles.DiffBundleCommand(s),
			bundles.ExportCommand(s),
			// Of other packages.
			services.DeployCommand(s), services.SetMinUnitsCommand(s), services.DestroyRelationCommand(s),
			services.AddRelationCommand(s), services.AddUnitCommand(s), services.DestroyUnitCommand(s),
			services.GetCommand(s), services.ConfigCommand(s), services.TrustCommand(s),
			services.ConstraintsCommand(s), services.SetConstraintsCommand(s), services.ExposeCommand(s),
			services.UnexposeCommand(s), services.ShowUnitCommand(s), machines.AddMachineCommand(s), machines.DestroyMachineCommand(s),
			charms.ResourcesCommand(s), status.StatusCommand(s), storage.StorageCommand(s), users.GrantCommand(s),
			users.RevokeCommand(s), offers.OfferCommand(s), offers.ConsumeCommand(s),
			offers.RemoveOfferCommand(s), offers.OffersCommand(s),
		}
	})
}
