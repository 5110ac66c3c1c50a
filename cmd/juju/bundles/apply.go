package bundles

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func ApplyCommand(s *cli.Session) *cobra.Command {
	d := &Deploy{Session: s, declared: true}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Make a model match a file",
		Long: `Make the model match FILE, which is a bundle, as for deploy, or - for standard input.
Applying a file again changes nothing. juju export-bundle writes a bundle that describes a
model, and juju diff shows what apply would change.

The command adds the services, machines, units and relations that the model lacks, and
updates charms, settings, trust, constraints, annotations, exposure and resources. A
setting, annotation or constraint that FILE does not mention is reset to its default, and
a service is exposed or trusted only if FILE says so. The number of units, series, storage
and resources of a service stay as they are if FILE does not mention them.

FILE can contain offers of its services, with the users who may use them, and saas: offers
of other models of this controller, to which its relations can refer.

With --prune, the command removes what the model has and FILE lacks: services, units,
relations, machines, offers, users' access to offers, and saas. Without --prune, it lists
them. Storage is detached and kept. An offer that services of other models use is kept,
with their relations, which FILE cannot describe. A machine with containers is kept until
these are gone: then repeat the command.

Units do not move: placements apply only to units that are added. New constraints and
storage apply only to new machines and units; the command says so. What cannot be changed,
such as the series of a service, is refused.

All of FILE is checked before the first change. --dry-run prints the changes, and which
units would run which hooks. If a change fails, or the command is interrupted, repeat it
to continue.`,
		Example: `  juju apply model.yaml --dry-run
  juju apply model.yaml --wait
  juju apply model.yaml --overlay production.yaml --prune`,
		Annotations: cli.SeeAlso("diff", "deploy", "export-bundle", "status"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no file specified")
			}
			return d.Run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&d.prune, "prune", false, "remove what the model has and FILE lacks")
	f.StringVar(&d.Repo, "repository", "", "the local repository of charms given by URL")
	f.BoolVar(&d.Trust, "trust", false, "let those charms that FILE trusts use the cloud's credential")
	f.BoolVar(&d.Force, "force", false,
		"allow series that a charm does not support or the cloud does not have, LXD profiles that charms may not have, and "+
			"adding more than 100 units of a service")
	d.AddFlags(f)
	d.Wait.Add(cmd, "until the services are active and what is removed is gone")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
