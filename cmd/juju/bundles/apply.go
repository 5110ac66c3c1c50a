package bundles

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func ApplyCommand(s *cli.Session) *cobra.Command {
	d := &Deploy{Session: s, declared: true}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Make a model what a file declares",
		Long: `Make the model what FILE declares. FILE is a bundle, as for deploy, or - for standard
input: juju export-bundle writes one that describes a model. What is as FILE says stays as
it is, so that to apply a file again changes nothing. To see the differences: juju diff.

The command adds the services, machines, units and relations that the model lacks, and
changes charms, settings, trust, constraints, annotations, exposure and resources. A
setting, annotation or constraint that FILE does not name goes back to its default, and a
service is exposed or trusted only if FILE says so. What FILE does not say of the number
of units, the series, the storage and the resources of a service stays as it is.

FILE may have offers of the services, with the users who may use them, and saas, which are
offers of other models of this controller. Relations can name a saas.

What the model has and FILE has not is removed only with --prune: services, units,
relations, machines, offers, users' access to them, and saas. Otherwise it is named.
Storage is detached and kept. An offer that services of other models use is not removed;
their relations with it stay, FILE cannot name them. Machines with containers stay until
these are gone: repeat the command.

Units do not move: a placement is for units that are added. New constraints and storage
are for new machines and units, which the command says. What cannot be changed, such as
the series of a service, is refused.

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
	f.BoolVar(&d.prune, "prune", false, "remove what the model has and FILE has not")
	f.StringVar(&d.Repo, "repository", "", "the local repository of charms given by URL")
	f.BoolVar(&d.Trust, "trust", false, "let those charms that FILE trusts use the cloud's credential")
	f.BoolVar(&d.Force, "force", false,
		"allow series that a charm does not support or the cloud does not have, and the addition of very many units")
	d.AddFlags(f)
	d.Wait.Add(cmd, "until the services are active and what is removed is gone")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
