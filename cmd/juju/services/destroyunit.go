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
			Long: `Destroy units. Each unit leaves its relations, runs its stop hook and is then removed. If
some of the units cannot be destroyed, the others still are. If a unit gets stuck, destroy
it again with --lenient or --force. SERVICE/leader is the service's leader.

Machines are kept after their last unit is removed, unless --destroy-machines is given:
then a machine that was created by deploy or add-unit is destroyed as soon as nothing is
left on it. Machines added by add-machine are always kept.

Storage is detached and kept, unless --destroy-storage is given or it is on the machine's
disk.`,
			Example: `  juju destroy-unit web/1
  juju destroy-unit web/1 --destroy-machines
  juju destroy-unit web/1 web/2 --wait`,
			Annotations: cli.SeeAlso("add-unit", "destroy-service", "destroy-machine", "explain", "resolved"),
		},
		Entities: "units", Check: cli.CheckUnits, Machines: true,
		Destroy: wait.DestroyAPI.DestroyUnits,
	}.For(s)
}
