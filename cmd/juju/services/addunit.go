package services

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
	"juju/state/limits"

	"github.com/spf13/cobra"
)

func AddUnitCommand(s *cli.Session) *cobra.Command {
	a := &addUnit{Session: s}
	cmd := &cobra.Command{
		Use:   "add-unit SERVICE",
		Short: "Add units to a service",
		Long: `Add one unit to a service, or several with -n: up to 100, or more with --force. They are
added 100 at a time; if the command is interrupted, it says how many are missing.

By default, each unit gets its own machine: one that has never had a unit, if its series
and constraints match, or else a new one. With --to, 3 is machine 3, lxd:3 a new container
on it, lxd a new container on a new machine, new a new machine, and zone=node2 a new
machine in that availability zone. A service's new machines are distributed across the
cloud's zones.

The units get storage as specified when the service was deployed. --attach-storage gives a
single unit existing, unattached storage instead of new storage.`,
		Example: `  juju add-unit web
  juju add-unit web -n 3
  juju add-unit web -n 2 --to 3,4 --wait
  juju add-unit web --to lxd:3
  juju add-unit store --attach-storage data/0`,
		Annotations: cli.SeeAlso("destroy-unit", "set-min-units", "add-machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(a.attach) > 0 && cmd.Flags().Changed("num-units") {
				return cli.Usagef("--attach-storage cannot be used with -n")
			}
			return a.run(cmd.Context(), args)
		},
	}
	cmd.Flags().IntVarP(&a.units, "num-units", "n", 1, "the number of units")
	cli.ManyFlag(cmd, &a.force, "units")
	cmd.Flags().StringArrayVar(&a.to, "to", nil, "the `placements` of the units, separated by commas")
	cmd.Flags().StringArrayVar(&a.attach, "attach-storage", nil,
		"the existing `storage` to attach to the unit, separated by commas")
	a.wait.Add(cmd, "until the new units are active")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type addUnitAPI interface {
	AddUnits(ctx context.Context, service string, n int, placement []entity.Placement, attach ...string) (
		units, warnings []string, err error)
	KeepForPlan()
	PlanKept(ctx context.Context) error
}

type addUnit struct {
	*cli.Session
	units  int
	to     []string
	attach []string
	force  bool
	wait   wait.Flag
}

func (a *addUnit) run(ctx context.Context, args []string) error {
	if err := cli.CheckService(args); err != nil {
		return err
	}
	if a.units < 1 {
		return cli.Usagef("--num-units must be a positive integer")
	}
	if err := a.CheckUnits(a.units, a.force); err != nil {
		return err
	}
	to, err := cli.ParsePlacements(a.to)
	if err != nil {
		return err
	}
	if a.attach, err = cli.ParseStorageIDs(a.attach); err != nil {
		return err
	}
	return cli.WithModel(ctx, a.Session, func(api interface {
		wait.StatusAPI
		addUnitAPI
	}) error {
		added, err := a.add(ctx, api, args[0], to)
		if err != nil {
			return err
		}
		return a.wait.Run(ctx, a.Session, api, wait.Condition{Names: added})
	})
}

func (a *addUnit) add(ctx context.Context, api addUnitAPI, service string, to []entity.Placement) ([]string, error) {
	units := unitsToAdd{service: service, n: a.units, to: to, attach: a.attach}
	added, err := units.add(ctx, a.Session, api)
	if len(added) > 0 {
		a.Note("Added %s.", strings.Join(added, ", "))
	}
	return added, err
}

// unitsToAdd are a service's units that a command adds, in as many requests as the controller's limit demands. A command with
// many units shows progress and can be interrupted.
type unitsToAdd struct {
	service string
	n       int // with those of earlier requests
	done    int // those of earlier requests
	to      []entity.Placement
	attach  []string
}

// next returns the units of the next request, with their placements. The controller rejects more placements than units.
func (u *unitsToAdd) next() (n int, to []entity.Placement) {
	left := u.n - u.done
	if n = min(left, limits.MaxAtOnce); n == left {
		to, u.to = u.to, nil
	} else {
		m := min(len(u.to), n)
		to, u.to = u.to[:m], u.to[m:]
	}
	u.done += n
	return n, to
}

// add adds the units that remain, and returns the names of those it added. If it fails, it prints how many are missing.
func (u *unitsToAdd) add(ctx context.Context, s *cli.Session, api addUnitAPI) (added []string, err error) {
	if s.Planning() {
		api.KeepForPlan() // together with what else adds some of them
	}
	var p *cli.Progress
	defer func() { p.Done() }()
	for before := u.done; u.done < u.n; {
		n, to := u.next()
		if u.n > n && !s.Planning() {
			text := fmt.Sprintf("Adding units to service %q: %d of %d", u.service, before+len(added), u.n)
			if p == nil {
				p = s.Progress("%s", text)
			} else {
				p.Say("%s", text)
			}
		}
		units, warnings, err := api.AddUnits(ctx, u.service, n, to, u.attach...)
		if errors.Is(err, client.ErrPlanned) {
			continue
		}
		if len(added) == 0 {
			s.Warn(warnings...)
		}
		added = append(added, units...)
		if have := before + len(added); err != nil && have > 0 {
			p.Done()
			s.Note("%d of %d units were added. To add the others: juju add-unit %s -n %d", have, u.n, u.service, u.n-have)
			if ctx.Err() != nil {
				s.Note("The controller may still be adding up to %d of them. To check: juju status %s", n, u.service)
			}
		}
		if err != nil {
			return added, err
		}
	}
	if s.Planning() {
		err = api.PlanKept(ctx)
	}
	return added, err
}
