package wait

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A DestroyCommand is what distinguishes the commands that destroy units, services and machines.
type DestroyCommand struct {
	cobra.Command                      // its names and help
	Entities      string               // "units"
	Check         func([]string) error // of the arguments
	// Destroy calls the API. It returns an error or nil for each name, in order, and what happens to machines and storage.
	Destroy func(api DestroyAPI, ctx context.Context, how entity.Destruction, names ...string) (
		[]error, entity.DestroyInfo, error)
	Machines bool // has --destroy-machines
	// Plain reports the error of a single name without "no services were destroyed".
	Plain bool
}

type DestroyAPI interface {
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	EndAPI
	StatusAPI
	cli.LeaderAPI
	DestroyUnits(ctx context.Context, how entity.Destruction, units ...string) ([]error, entity.DestroyInfo, error)
	DestroyServices(ctx context.Context, how entity.Destruction, services ...string) ([]error, entity.DestroyInfo, error)
}

// For returns the command of a session.
func (d DestroyCommand) For(s *cli.Session) *cobra.Command {
	var awaits Flag
	var flags DestroyFlags
	cmd := &d.Command
	name := cmd.Name()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := d.Check(args); err != nil {
			return err
		}
		how, err := flags.Read(cmd)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		return cli.WithModel(ctx, s, func(api DestroyAPI) error {
			args, err := cli.Leaders(ctx, api, args)
			if err != nil {
				return err
			}
			awaited := Gone(name, args)
			waits := awaits.Bound > 0 || how.Strength == entity.Force
			if waits && (!d.Machines || how.Machines) {
				status, err := api.Status(ctx)
				if err != nil {
					return err
				}
				awaited.Takes(status)
			}
			errs, info, err := d.Destroy(api, ctx, how, args...)
			if err != nil {
				return err
			}
			awaited.Leaves(info.MachinesLeft)
			NoteStorage(s, info)
			flags.NoteLeft(s, name, info.MachinesLeft)
			if err := d.outcome(errs); err != nil {
				return err
			}
			if err := End(ctx, s, api, how, args...); err != nil {
				return err
			}
			switch {
			case awaits.Bound == 0 && waits && len(awaited.Also) > 0:
				return Until(ctx, s, api, awaited, how.Timeout+CloudTime)
			case awaits.Bound == 0 && waits && !s.Draws():
				awaited.Ended(s) // End has waited for all
			}
			return awaits.Run(ctx, s, api, awaited)
		})
	}
	awaits.Add(cmd, "until they are removed")
	flags.Add(cmd)
	if d.Machines {
		flags.AddMachines(cmd)
		flags.AddStorage(cmd)
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// outcome combines the results into one error.
func (d DestroyCommand) outcome(errs []error) error {
	if d.Plain {
		return cli.OneOrBulk(d.Entities, "destroyed", errs)
	}
	return cli.Bulk(d.Entities, "destroyed", errs)
}
