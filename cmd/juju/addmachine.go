package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/state/entity"
)

func addMachineCommand(s *session) *cobra.Command {
	a := &addMachine{session: s}
	cmd := &cobra.Command{
		Use:   "add-machine [PLACEMENT]",
		Short: "Add machines without units",
		Long: `Add one machine, or as many as -n says. deploy and add-unit use machines that have never
had a unit before they add new ones; with --to, they use the machines that you name.

The constraints given here override those of the model. The command fails if the cloud
cannot meet the constraints or the series, and warns about constraints that the cloud
ignores.

PLACEMENT is for the cloud to interpret, for example zone=a; the local cloud accepts
none. Containers (lxd:0) are not supported yet.`,
		Example: `  juju add-machine
  juju add-machine -n 2
  juju add-machine --constraints mem=2G`,
		Annotations: seeAlso("destroy-machine", "deploy", "add-unit", "set-model-constraints"),
		RunE:        func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) },
	}
	cmd.Flags().IntVarP(&a.n, "num-machines", "n", 1, "the number of machines")
	cmd.Flags().StringVar(&a.constraints, "constraints", "",
		"the constraints of the machines, as KEY=VALUE, separated by spaces")
	cmd.Flags().StringVar(&a.series, "series", "", "the series of the machines")
	a.wait.flag(cmd, "until the machines are started")
	s.modelFlag(cmd)
	return cmd
}

type addMachineAPI interface {
	AddMachine(ctx context.Context, args client.MachineArgs) (id string, warnings []string, err error)
}

type addMachine struct {
	*session
	n                   int
	constraints, series string
	wait                waitFlag
}

func (a *addMachine) run(ctx context.Context, args []string) error {
	request, err := a.request(args)
	if err != nil {
		return err
	}
	return a.withModel(ctx, func(api modelAPI) error {
		added, err := a.add(ctx, api, request)
		if err != nil {
			return err
		}
		return a.wait.run(ctx, a.session, api, until{names: added})
	})
}

func (a *addMachine) request(args []string) (r client.MachineArgs, err error) {
	if len(args) > 1 {
		return r, usagef("unrecognized args: %q", args[1:])
	}
	if r.Constraints, err = entity.ParseConstraints(a.constraints); err != nil {
		return r, usageError{err}
	}
	if _, ok := r.Constraints.Get(entity.ConstraintContainer); ok {
		return r, usagef("container constraint %q not allowed when adding a machine", entity.ConstraintContainer)
	}
	if a.series != "" && !charm.IsValidSeries(a.series) {
		return r, usageError{entity.InvalidSeries(a.series)}
	}
	r.Series = a.series
	if a.n < 1 {
		return r, usagef("the number of machines must be a positive integer")
	}
	if len(args) == 1 {
		r.Placement = args[0]
	}
	switch {
	case r.Placement == "":
	case a.n > 1:
		return r, usagef("cannot use -n when specifying a placement directive")
	case entity.IsValidMachine(r.Placement):
		return r, usagef("machine-id cannot be specified when adding machines")
	case strings.HasPrefix(r.Placement, "ssh:"):
		return r, entity.Errorf(entity.NotSupported, "cannot add %q: existing machines are not supported yet", r.Placement)
	case !placement.MatchString(r.Placement):
		return r, usagef("invalid placement %q", r.Placement)
	}
	return r, nil
}

func (a *addMachine) add(ctx context.Context, api addMachineAPI, r client.MachineArgs) (added []string, err error) {
	for i := range a.n {
		id, warnings, err := api.AddMachine(ctx, r)
		if err != nil {
			return added, err
		}
		if i == 0 { // the other machines have the same
			a.warn(warnings...)
		}
		a.note("created machine %s", id)
		added = append(added, id)
	}
	return added, nil
}
