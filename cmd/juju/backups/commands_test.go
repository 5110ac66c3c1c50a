package backups_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/backups"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			backups.CreateCommand(s), backups.VerifyCommand(s), backups.RestoreCommand(s),
		}
	})
}
