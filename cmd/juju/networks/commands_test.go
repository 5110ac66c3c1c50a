package networks_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/networks"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			networks.SpacesCommand(s), networks.ShowSpaceCommand(s), networks.AddSpaceCommand(s),
			networks.RenameSpaceCommand(s), networks.RemoveSpaceCommand(s), networks.MoveToSpaceCommand(s),
			networks.ReloadSpacesCommand(s), networks.SubnetsCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "spaces", Asked: []string{"Spaces"}},
		{Line: "show-space db", Asked: []string{"ShowSpace db"}},
		{Line: "subnets --zone a", Asked: []string{"Spaces"}, Stderr: "No subnets found matching requested criteria.\n"},
		{Line: "add-space db 10.0.0.1/16", Asked: []string{"AddSpace db [10.0.0.0/16]"}, Stderr: "added space \"db\" with subnets 10.0.0.0/16\n"},
		{Line: "add-space db", Asked: []string{"AddSpace db []"}, Stderr: "added space \"db\" with no subnets\n"},
		{Line: "rename-space db data", Asked: []string{"RenameSpace db data"}, Stderr: "renamed space \"db\" to \"data\"\n"},
		{Line: "remove-space db --force", Asked: []string{"RemoveSpace db true"}, Stderr: "removed space \"db\"\n"},
		{Line: "reload-spaces", Asked: []string{"ReloadSpaces"}},
		{Line: "move-to-space db 10.0.0.0/24 --force", Asked: []string{"MoveToSpace db [10.0.0.0/24] true"}},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"show-space":                           "expected exactly 1 space name, got 0 arguments",
		"show-space A":                         `"A" is not a valid space name`,
		"add-space":                            "space name is required",
		"add-space db 10.0.0.0":                `"10.0.0.0" is not a valid CIDR`,
		"add-space db 10.0.0.0/16 10.0.0.1/16": `duplicate subnet "10.0.0.1/16" specified`,
		"rename-space db":                      "old-name and new-name are required",
		"rename-space db db":                   "old-name and new-name are the same",
		"remove-space":                         "space name is required",
		"move-to-space db":                     "CIDRs required but not provided",
	})
}
