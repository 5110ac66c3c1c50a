package services

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
)

func DestroyServiceCommand(s *cli.Session) *cobra.Command {
	return wait.DestroyCommand{
		Command: cobra.Command{
			Use:     "destroy-service SERVICE...",
			Aliases: []string{"remove-service", "remove-application", "destroy-application"},
			Short:   "Destroy services",
			Long: `Destroy services with all their units and relations. A service is removed, and its name
can be reused, once its last unit is removed. If some of the services cannot be destroyed,
the others still are.

Machines are kept after their last unit is removed, unless --destroy-machines is given:
then a machine that was created by deploy or add-unit is destroyed as soon as nothing is
left on it. Machines added by add-machine are always kept.

Storage is detached and kept, unless --destroy-storage is given or it is on a machine's
disk.`,
			Example: `  juju destroy-service web
  juju destroy-service web --destroy-machines
  juju destroy-service web store --wait`,
			Annotations: cli.SeeAlso("destroy-unit", "destroy-machine", "explain", "deploy"),
		},
		Entities: "services", Check: cli.CheckServices, Machines: true, Plain: true,
		Destroy: wait.DestroyAPI.DestroyServices,
	}.For(s)
}
