package machines

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
)

func DestroyMachineCommand(s *cli.Session) *cobra.Command {
	return wait.DestroyCommand{
		Command: cobra.Command{
			Use:     "destroy-machine MACHINE...",
			Aliases: []string{"remove-machine", "terminate-machine"},
			Short:   "Destroy machines",
			Long: `Destroy machines and stop their instances. A machine with containers, or with units that
are not being destroyed, cannot be destroyed without --force, which destroys these too. If
some of the machines cannot be destroyed, the others still are.`,
			Example: `  juju destroy-machine 3
  juju destroy-machine 3 4 --wait
  juju destroy-machine 3 --force --timeout 10s`,
			Annotations: cli.SeeAlso("add-machine", "destroy-unit", "explain"),
		},
		Entities: "machines", Check: cli.CheckMachines,
		Destroy: wait.DestroyAPI.DestroyMachines,
	}.For(s)
}
