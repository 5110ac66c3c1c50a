package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

// A destroyCommand is what distinguishes the commands that destroy units, services and
// machines.
type destroyCommand struct {
	cobra.Command                      // its names and help
	entities      string               // "units"
	check         func([]string) error // of the arguments
	// destroy calls the API. It returns an outcome for each name, in order, and what becomes of
	// machines and storage.
	destroy func(api destroyAPI, ctx context.Context, how entity.Destruction, names ...string) (
		[]error, entity.DestroyInfo, error)
	machines bool // has --destroy-machines
	// plain reports the error of a single name as it is, without "no services were destroyed".
	plain bool
}

type destroyAPI interface {
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	wait.EndAPI
	wait.StatusAPI
	DestroyUnits(ctx context.Context, how entity.Destruction, units ...string) ([]error, entity.DestroyInfo, error)
	DestroyServices(ctx context.Context, how entity.Destruction, services ...string) ([]error, entity.DestroyInfo, error)
}

// command returns the command.
func (d destroyCommand) command(s *cli.Session) *cobra.Command {
	var awaits wait.Flag
	var flags wait.DestroyFlags
	cmd := &d.Command
	name := cmd.Name()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := d.check(args); err != nil {
			return err
		}
		how, err := flags.Read(cmd)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		return cli.WithModel(ctx, s, func(api destroyAPI) error {
			awaited := wait.Gone(name, args)
			waits := awaits.Bound > 0 || how.Strength == entity.Force
			if waits && (!d.machines || how.Machines) {
				status, err := api.Status(ctx)
				if err != nil {
					return err
				}
				awaited.Takes(status)
			}
			errs, info, err := d.destroy(api, ctx, how, args...)
			if err != nil {
				return err
			}
			awaited.Leaves(info.MachinesLeft)
			wait.NoteStorage(s, info)
			flags.NoteLeft(s, name, info.MachinesLeft)
			if err := d.outcome(errs); err != nil {
				return err
			}
			if err := wait.End(ctx, s, api, how, args...); err != nil {
				return err
			}
			if awaits.Bound == 0 && waits && len(awaited.Also) > 0 {
				return wait.Until(ctx, s, api, awaited, how.Timeout+wait.CloudTime)
			}
			return awaits.Run(ctx, s, api, awaited)
		})
	}
	awaits.Add(cmd, "until they are gone")
	flags.Add(cmd)
	if d.machines {
		flags.AddMachines(cmd)
		flags.AddStorage(cmd)
	}
	s.ModelFlag(cmd)
	return cmd
}

// outcome combines the outcomes into one error.
func (d destroyCommand) outcome(errs []error) error {
	if d.plain && len(errs) == 1 {
		return errs[0]
	}
	return cli.Bulk(d.entities, "destroyed", errs)
}

func destroyUnitCommand(s *cli.Session) *cobra.Command {
	return destroyCommand{
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
		entities: "units", check: cli.CheckUnits, machines: true,
		destroy: destroyAPI.DestroyUnits,
	}.command(s)
}

func destroyServiceCommand(s *cli.Session) *cobra.Command {
	return destroyCommand{
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
		entities: "services", check: cli.CheckServices, machines: true, plain: true,
		destroy: destroyAPI.DestroyServices,
	}.command(s)
}

func destroyMachineCommand(s *cli.Session) *cobra.Command {
	return destroyCommand{
		Command: cobra.Command{
			Use:     "destroy-machine MACHINE...",
			Aliases: []string{"remove-machine", "terminate-machine"},
			Short:   "Destroy machines",
			Long: `Destroy machines and stop their instances. A machine that has containers, or units that
are not being destroyed, is refused unless you give --force, which destroys these too.
If some of the machines cannot be destroyed, the others still are.`,
			Example: `  juju destroy-machine 3
  juju destroy-machine 3 4 --wait
  juju destroy-machine 3 --force --timeout 10s`,
			Annotations: cli.SeeAlso("add-machine", "destroy-unit", "explain"),
		},
		entities: "machines", check: cli.CheckMachines,
		destroy: destroyAPI.DestroyMachines,
	}.command(s)
}
