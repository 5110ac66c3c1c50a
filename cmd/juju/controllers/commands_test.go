package controllers_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/controllers"
	"juju/cmd/juju/models"
	"juju/cmd/juju/storage"
	"juju/provider/local"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			controllers.BootstrapCommand(s), controllers.DestroyEnvironmentCommand(s),
			controllers.UpgradeControllerCommand(s), controllers.ControllersCommand(s),
			controllers.ShowControllerCommand(s), controllers.ControllerConfigCommand(s),
			controllers.CloudsCommand(s), controllers.ShowCloudCommand(s), controllers.RegionsCommand(s),
			controllers.AddCloudCommand(s), controllers.UpdateCloudCommand(s), controllers.RemoveCloudCommand(s),
			controllers.DefaultRegionCommand(s), controllers.AddCredentialCommand(s),
			controllers.UpdateCredentialCommand(s), controllers.RemoveCredentialCommand(s),
			controllers.DefaultCredentialCommand(s), controllers.AutoloadCredentialsCommand(s),
			controllers.AuditLogCommand(s), controllers.CredentialsCommand(s),
			controllers.ShowCredentialCommand(s), controllers.EnableHACommand(s), controllers.DashboardCommand(s),
			controllers.MigrateStoreCommand(s), controllers.UpgradeModelCommand(s), controllers.CheckCommand(s),
			controllers.DumpDBCommand(s),
			// Of other packages.
			models.AddModelCommand(s), models.ModelsCommand(s), models.DestroyModelCommand(s),
			models.SetCredentialCommand(s), models.ModelDefaultsCommand(s), storage.RemoveStorageCommand(s),
			storage.StorageCommand(s),
		}
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"bootstrap a b c": `unrecognized args: ["c"]`,
		"bootstrap local " + strings.Repeat("a", 201): `the controller's name has 201 characters; the maximum is 200`,
		"bootstrap local a/b": `"a/b" is not a valid controller name: it may contain only letters, ` +
			`digits, hyphens and dots`,
		"bootstrap --config default-series=": `default-series: expected a value, got ""`,
		"bootstrap --config default-series=win7": `cannot use default-series "win7": on the local cloud hooks run on ` +
			`this host, which is "` + local.HostSeries() + `"`,
		"bootstrap --config default-series": `expected "key=value", got "default-series"`,
		"destroy-environment":               `no controller specified`,
		"destroy-environment a b":           `unrecognized args: ["a" "b"]`,
	})
}
