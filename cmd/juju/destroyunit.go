package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/state/entity"
)

func destroyUnitCommand(s *session) *cobra.Command {
	var wait waitFlag
	var destroy destroyFlags
	cmd := &cobra.Command{
		Use:     "destroy-unit UNIT...",
		Aliases: []string{"remove-unit"},
		Short:   "Destroy units",
		Long: `Destroy units. Each leaves its relations, runs its stop hook and is then gone; its
machine stays. What can be destroyed is, also if other units cannot.`,
		Example: `  juju destroy-unit web/1
  juju destroy-unit web/1 web/2 --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := units(args); err != nil {
				return err
			}
			how, err := destroy.read(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return s.withModel(ctx, func(api modelAPI) error {
				if err := destroyUnits(ctx, api, how, args); err != nil {
					return err
				}
				if err := s.end(ctx, api, how, args...); err != nil {
					return err
				}
				return wait.run(ctx, s, api, until{names: args, gone: true})
			})
		},
	}
	wait.flag(cmd, "until they are gone")
	destroy.flags(cmd)
	s.modelFlag(cmd)
	return cmd
}

func destroyUnits(ctx context.Context, api destroyUnitAPI, how entity.Destruction, names []string) error {
	errs, err := api.DestroyUnits(ctx, how, names...)
	if err != nil {
		return err
	}
	return bulk("units", "destroyed", errs)
}
