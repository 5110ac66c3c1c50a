package blocks_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/blocks"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			blocks.DisableCommandCommand(s), blocks.EnableCommandCommand(s), blocks.DisabledCommandsCommand(s),
			blocks.EnableDestroyControllerCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "disable-command destroy-model", Asked: []string{`SwitchBlockOn BlockDestroy ""`}},
		{Line: "disable-command remove-object Ask SA first.", Asked: []string{`SwitchBlockOn BlockRemove "Ask SA first."`}},
		{Line: "disable-command all", Asked: []string{`SwitchBlockOn BlockChange ""`}},
		{Line: "block all-changes", Asked: []string{`SwitchBlockOn BlockChange ""`}},
		{Line: "block destroy-environment", Asked: []string{`SwitchBlockOn BlockDestroy ""`}},
		{Line: "enable-command all", Asked: []string{"SwitchBlockOff BlockChange"}},
		{Line: "unblock remove-object", Asked: []string{"SwitchBlockOff BlockRemove"}},
		{Line: "disabled-commands", Asked: []string{"Blocks"}, Stderr: "No commands are currently disabled.\n"},
		{Line: "list-all-blocks", Asked: []string{"Blocks"}, Stderr: "No commands are currently disabled.\n"},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"disable-command":                  `missing command set (all, destroy-model, remove-object)`,
		"disable-command sleep":            `bad command set, valid options: all, destroy-model, remove-object`,
		"enable-command all now":           `unrecognized args: ["now"]`,
		"disabled-commands all":            `unrecognized args: ["all"]`,
		"disabled-commands --format smart": `unknown format "smart"`,
	})
}
