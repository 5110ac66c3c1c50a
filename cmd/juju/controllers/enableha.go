package controllers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/constraints"
	"juju/state/entity"
)

type enableHAAPI interface {
	EnableHA(ctx context.Context, n int, cons constraints.Value) (entity.ControllerChanges, error)
}

func EnableHACommand(s *cli.Session) *cobra.Command {
	e := &enableHA{Session: s}
	cmd := &cobra.Command{
		Use:     "enable-ha",
		Aliases: []string{"ensure-availability"},
		Short:   "Add controllers for high availability",
		Long: `Add controllers until there are as many as -n says, and replace lost ones. All of them
serve clients and agents, and share the MongoDB given to juju bootstrap or juju
migrate-store with --mongo-url. The embedded store can't be shared, so this requires a
MongoDB.

Each controller is a machine of the model "controller": on the cloud "local", another
process on this host; on "lxd", a container. One of the controllers runs the workers that
start machines; if it is lost, another one takes over within half a minute. Agents and
clients that lose their controller move to another one.

Controllers that are lost are demoted: their machines remain in the model until you remove
them with destroy-machine. To remove a controller that is up, destroy its machine. This
command never removes one.`,
		Example: `  juju enable-ha
  juju enable-ha -n 5`,
		Annotations: cli.SeeAlso("show-controller", "migrate-store", "destroy-machine"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context()) },
	}
	cmd.Flags().IntVarP(&e.n, "num-controllers", "n", 0,
		"the `NUMBER` of controllers, which must be odd (default 3, or as many as there are)")
	cmd.Flags().StringVar(&e.constraints, "constraints", "",
		"the constraints of new machines, as KEY=VALUE, separated by spaces")
	s.ControllerFlag(cmd)
	return cmd
}

type enableHA struct {
	*cli.Session
	n           int
	constraints string
}

func (e *enableHA) run(ctx context.Context) error {
	cons, err := constraints.Parse(e.constraints)
	if err != nil {
		return cli.Usage(err)
	}
	return cli.WithController(ctx, e.Session, func(_ cli.Target, api enableHAAPI) error {
		changes, err := api.EnableHA(ctx, e.n, cons)
		if err != nil {
			return err
		}
		for _, change := range []struct {
			what string
			ids  []string
		}{
			{"maintaining", changes.Maintained}, {"adding", changes.Added}, {"demoting", changes.Demoted},
		} {
			if len(change.ids) > 0 {
				fmt.Fprintf(e.Stdout, "%s machines: %s\n", change.what, display.Line(strings.Join(change.ids, ", ")))
			}
		}
		if len(changes.Demoted) > 0 {
			e.Note("To remove those that are lost: juju destroy-machine -m controller --force %s",
				strings.Join(changes.Demoted, " "))
		}
		return nil
	})
}
