package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/state/entity"
)

func destroyMachineCommand(s *session) *cobra.Command {
	var wait waitFlag
	var destroy destroyFlags
	cmd := &cobra.Command{
		Use:     "destroy-machine MACHINE...",
		Aliases: []string{"remove-machine", "terminate-machine"},
		Short:   "Destroy machines that have no units",
		Long: `Destroy machines. One with units that are not being destroyed, or with containers, is
refused, unless --force takes them with it. What can be destroyed is, also if other
machines cannot.`,
		Example: `  juju destroy-machine 3
  juju destroy-machine 3 4 --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := machines(args); err != nil {
				return err
			}
			how, err := destroy.read(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return s.withModel(ctx, func(api modelAPI) error {
				if err := destroyMachines(ctx, api, how, args); err != nil {
					return err
				}
				if err := s.end(ctx, api, how, args...); err != nil {
					return err
				}
				return wait.run(ctx, s, api, gone("destroy-machine", args))
			})
		},
	}
	wait.flag(cmd, "until they are gone")
	destroy.flags(cmd)
	s.modelFlag(cmd)
	return cmd
}

func destroyMachines(ctx context.Context, api destroyMachineAPI, how entity.Destruction, ids []string) error {
	errs, err := api.DestroyMachines(ctx, how, ids...)
	if err != nil {
		return err
	}
	return bulk("machines", "destroyed", errs)
}
