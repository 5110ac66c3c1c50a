package wait_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/services"
	"juju/cmd/juju/wait"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			wait.WaitForCommand(s),
			// Of other packages.
			services.DeployCommand(s), services.DestroyRelationCommand(s), services.AddUnitCommand(s),
			services.DestroyServiceCommand(s), services.DestroyUnitCommand(s), machines.DestroyMachineCommand(s),
			machines.AddMachineCommand(s), charms.UpgradeCharmCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "wait-for", Asked: []string{"Status"}, Stderr: "The model has nothing to wait for.\n"},
		{Line: "wait-for service web --gone", Asked: []string{"Status"}, Stderr: "Removed: web\n"},
		{Line: "destroy-unit web/0 --force --timeout 0s", Asked: []string{"DestroyUnits with force after 0s [web/0]"}, Stderr: "Removed: web/0\n"},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"wait-for --gone":                          `--gone needs at least one name`,
		"wait-for web --gone --status error":       `--gone and --status are mutually exclusive`,
		"wait-for --timeout 0s":                    `--timeout must be positive`,
		"wait-for a b --query true":                `--query is about one service, unit or machine, or about the model`,
		"wait-for a --query true --gone":           `--query says all: --gone and --status can't be given with it`,
		"destroy-unit web/0 --force --timeout -1s": `--timeout must not be negative, got -1s`,
		"destroy-unit web/0 --timeout 1s":          `--timeout is only used with --force`,
		"destroy-unit web/0 --no-wait":             `--no-wait without --force not valid`,
	})
}
