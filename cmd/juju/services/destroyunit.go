package services

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
)

func DestroyUnitCommand(s *cli.Session) *cobra.Command {
	return wait.DestroyCommand{
		Command: cobra.Command{
			Use:     "destroy-unit UNIT...",
			Aliases: []string{"remove-unit"},
			Short:   "Destroy units",
			Long: `Destroy units. Each unit leaves its relations, runs its stop hook and is then removed.
If some of the units cannot be destroyed, the others still are. If a unit gets stuck,
destroy it again with --lenient or --force.

A machine stays when its last unit is gone, unless you give --destroy-machines: then a
machine that deploy or add-unit created is destroyed as soon as nothing is left on it.
A machine that add-machine added always stays.

Storage is detached and kept, unless you give --destroy-storage or it is on the disk of
the machine.`,
			Example: `  juju destroy-unit web/1
  juju destroy-unit web/1 --destroy-machines
  juju destroy-unit web/1 web/2 --wait`,
			Annotations: cli.SeeAlso("add-unit", "destroy-service", "destroy-machine", "explain", "resolved"),
		},
		Entities: "units", Check: cli.CheckUnits, Machines: true,
		Destroy: wait.DestroyAPI.DestroyUnits,
	}.For(s)
}
