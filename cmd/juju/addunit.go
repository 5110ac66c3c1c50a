package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func addUnitCommand(s *session) *cobra.Command {
	a := &addUnit{session: s}
	cmd := &cobra.Command{
		Use:   "add-unit SERVICE",
		Short: "Add units to a service",
		Long: `Add one unit to a service, or as many as -n says: up to 100, or more with --force. They
are added 20 at a time; if the command is interrupted, it says how many are missing.

Each unit gets a machine of its own, unless --to says where it goes: one that has never
had a unit, if its series and constraints fit, or else a new one. With --to, 3 is machine
3, lxd:3 a new container on it, lxd a new container on a new machine, new a new machine,
and zone=node2 a new machine in that availability zone. New machines of a service are
spread over the cloud's zones.

The units get storage as the service's first ones did. --attach-storage gives a single
unit storage that no unit has, instead of new one.`,
		Example: `  juju add-unit web
  juju add-unit web -n 3
  juju add-unit web -n 2 --to 3,4 --wait
  juju add-unit web --to lxd:3
  juju add-unit store --attach-storage data/0`,
		Annotations: seeAlso("destroy-unit", "set-min-units", "add-machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(a.attach) > 0 && cmd.Flags().Changed("num-units") {
				return usagef("--attach-storage cannot be used with -n")
			}
			return a.run(cmd.Context(), args)
		},
	}
	cmd.Flags().IntVarP(&a.units, "num-units", "n", 1, "the number of units")
	manyFlag(cmd, &a.force, "units")
	cmd.Flags().StringArrayVar(&a.to, "to", nil, "the `places` of the units, separated by commas")
	cmd.Flags().StringArrayVar(&a.attach, "attach-storage", nil, "existing `storage` for the unit, separated by commas")
	a.wait.flag(cmd, "until the new units are active")
	s.modelFlag(cmd)
	return cmd
}

type addUnitAPI interface {
	AddUnits(ctx context.Context, service string, n int, placement []string, attach ...string) (
		units, warnings []string, err error)
}

type addUnit struct {
	*session
	units  int
	to     []string
	attach []string
	force  bool
	wait   waitFlag
}

func (a *addUnit) run(ctx context.Context, args []string) error {
	if err := oneService(args); err != nil {
		return err
	}
	if a.units < 1 {
		return usagef("--num-units must be a positive integer")
	}
	if err := checkMany("units", a.units, a.force); err != nil {
		return err
	}
	to, err := placements(a.to)
	if err != nil {
		return err
	}
	if a.attach, err = storageIDs(a.attach); err != nil {
		return err
	}
	return withModel(ctx, a.session, func(api interface {
		statusAPI
		addUnitAPI
	}) error {
		added, err := a.add(ctx, api, args[0], to)
		if err != nil {
			return err
		}
		return a.wait.run(ctx, a.session, api, until{names: added})
	})
}

func (a *addUnit) add(ctx context.Context, api addUnitAPI, service string, to []string) ([]string, error) {
	added, err := a.addUnits(ctx, api, service, 0, a.units, to, a.attach...)
	if len(added) > 0 {
		a.note("Added %s.", strings.Join(added, ", "))
	}
	return added, err
}
