package main

import (
	"context"

	"github.com/spf13/cobra"
)

func destroyMachineCommand(s *session) *cobra.Command {
	var wait waitFlag
	cmd := &cobra.Command{
		Use:     "destroy-machine MACHINE...",
		Aliases: []string{"remove-machine", "terminate-machine"},
		Short:   "Destroy machines that have no units",
		Long: `Destroy machines. One with units that are not being destroyed is refused. What can
be destroyed is, also if other machines cannot.`,
		Example: `  juju destroy-machine 3
  juju destroy-machine 3 4 --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := machines(args); err != nil {
				return err
			}
			ctx := cmd.Context()
			return s.withModel(ctx, func(api modelAPI) error {
				if err := destroyMachines(ctx, api, args); err != nil {
					return err
				}
				return wait.run(ctx, s, api, until{names: args, gone: true})
			})
		},
	}
	wait.flag(cmd, "until they are gone")
	s.modelFlag(cmd)
	return cmd
}

func destroyMachines(ctx context.Context, api destroyMachineAPI, ids []string) error {
	errs, err := api.DestroyMachines(ctx, ids...)
	if err != nil {
		return err
	}
	return bulk("machines", "destroyed", errs)
}
