package clouds_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clouds"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			clouds.KeeperCommand(),
		}
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"keeper": `keeper takes only --dir`,
	})
}

func TestKeeperWithoutItsConfiguration(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("keeper", "--dir", "/none")
	u.Sees(1, "", "ERROR cannot read the keeper's configuration: open /none/keeper.json: no such file or directory\n")
}
