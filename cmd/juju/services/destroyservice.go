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
			Long: `Destroy services with all their units and relations. A service is gone when its last
unit is gone; until then its name is taken. If some of the services cannot be
destroyed, the others still are.

Machines stay when their last units are gone, unless you give --destroy-machines: then
a machine that deploy or add-unit created is destroyed as soon as nothing is left on
it. A machine that add-machine added always stays.

Storage is detached and kept, unless you give --destroy-storage or it is on the disk of
a machine.`,
			Example: `  juju destroy-service web
  juju destroy-service web --destroy-machines
  juju destroy-service web store --wait`,
			Annotations: cli.SeeAlso("destroy-unit", "destroy-machine", "explain", "deploy"),
		},
		Entities: "services", Check: cli.CheckServices, Machines: true, Plain: true,
		Destroy: wait.DestroyAPI.DestroyServices,
	}.For(s)
}
