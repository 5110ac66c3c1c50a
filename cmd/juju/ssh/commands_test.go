package ssh_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/users"
)

// newUser returns a user of the commands of this package, and of some others.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			ssh.SSHCommand(s), ssh.SCPCommand(s), ssh.DebugHooksCommand(s), ssh.KeysCommand(s),
			ssh.AddKeyCommand(s), ssh.ImportKeyCommand(s), ssh.RemoveKeyCommand(s), ssh.CharmHistoryCommand(s),
			// Of other packages.
			users.UnregisterCommand(s),
		}
	})
}
