package machines_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/machines"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			machines.AddMachineCommand(s), machines.MachinesCommand(s), machines.ShowMachineCommand(s),
			machines.DestroyMachineCommand(s), machines.RetryProvisioningCommand(s),
			machines.UpgradeMachineCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "destroy-machine 0 0/lxd/1", Asked: []string{"DestroyMachines [0 0/lxd/1]"}},
		{Line: "remove-machine 0", Asked: []string{"DestroyMachines [0]"}},
		{Line: "terminate-machine 0", Asked: []string{"DestroyMachines [0]"}},
		{Line: "add-machine", Asked: []string{`AddMachine "" "" ""`}, Stderr: "created machine 0\n"},
		{Line: "add-machine -n 2 --series jammy --constraints mem=1G", Stderr: "created machine 0\ncreated machine 1\n",
			Asked: []string{`AddMachine "jammy" "mem=1024M" ""`, `AddMachine "jammy" "mem=1024M" ""`}},
		{Line: "add-machine zone=a -q", Asked: []string{`AddMachine "" "" "zone=a"`}},
		{Line: "add-machine lxd:0 -q", Asked: []string{`AddMachine "" "" "lxd:0"`}},
		{Line: "upgrade-machine 3 prepare ubuntu@24.04 --no-prompt", Asked: []string{"PrepareUpgrade 3 ubuntu@24.04 false", "Status"},
			Stderr: "Upgrade the operating system of machine 3 now. Then: juju upgrade-machine 3 complete\n", Unplanned: true},
		{Line: "upgrade-series 3 prepare noble --force -y", Asked: []string{"PrepareUpgrade 3 ubuntu@24.04 true", "Status"},
			Stderr: "Upgrade the operating system of machine 3 now. Then: juju upgrade-machine 3 complete\n", Unplanned: true},
		{Line: "upgrade-machine 3 complete", Asked: []string{"CompleteUpgrade 3 false", "Status"}, Stderr: "Machine 3 has its new base.\n", Unplanned: true},
		{Line: "upgrade-machine 3 complete --keep-base", Asked: []string{"CompleteUpgrade 3 true", "Status"}, Stderr: "Machine 3 keeps its base.\n", Unplanned: true},
		{Line: "retry-provisioning 3 4", Asked: []string{"RetryProvisioning [3 4]"}},
		{Line: "retry-provisioning --all", Asked: []string{"RetryAllProvisioning"}, Stderr: "No machines are in error.\n"},
		{Line: "retry-provisioning --all --constraints mem=1G", Asked: []string{`RetryAllProvisioning with "mem=1024M"`},
			Stderr: "No machines are in error.\n"},
		{Line: "retry-provisioning 3 --constraints=", Asked: []string{`RetryProvisioning with "" [3]`}},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"destroy-machine":                             `no machines specified`,
		"destroy-machine x":                           `invalid machine id "x"`,
		"add-machine kvm:":                            `invalid value "" for "kvm" scope: expected machine-id`,
		"add-machine 3":                               `machine-id cannot be specified when adding machines`,
		"add-machine zone=a -n 2":                     `cannot use -n when specifying a placement directive`,
		"add-machine --constraints mem":               `malformed constraint "mem"`,
		"add-machine -n 0":                            `the number of machines must be a positive integer`,
		"add-machine --series UPPER":                  `invalid series "UPPER"`,
		"add-machine a b":                             `unrecognized args: ["b"]`,
		"add-machine --constraints container=lxd":     `container constraint "container" not allowed when adding a machine`,
		"retry-provisioning":                          `no machines specified`,
		"retry-provisioning 3 --all":                  `--all takes no machines`,
		"retry-provisioning 3 --constraints mem":      `malformed constraint "mem"`,
		"upgrade-machine":                             `no machines specified`,
		"upgrade-machine 3":                           `after the machine, say prepare or complete`,
		"upgrade-machine 3 begin noble":               `after the machine, say prepare or complete`,
		"upgrade-machine 3 prepare":                   `no base specified`,
		"upgrade-machine 3 prepare ubuntu@x":          `unknown base "ubuntu@x"`,
		"upgrade-machine 3 prepare noble --keep-base": `prepare takes no --keep-base`,
		"upgrade-machine 3 prepare noble --timeout 0": `--timeout must be positive`,
		"upgrade-machine 3 complete noble":            `complete takes no base`,
		"upgrade-machine 3 complete --force":          `complete takes no --force`,
	})
}
