package main

import (
	"github.com/spf13/cobra"
)

func destroyUnitCommand(s *session) *cobra.Command {
	var wait waitFlag
	var destroy destroyFlags
	cmd := &cobra.Command{
		Use:     "destroy-unit UNIT...",
		Aliases: []string{"remove-unit"},
		Short:   "Destroy units",
		Long: `Destroy units. Each leaves its relations, runs its stop hook and is then gone. What
can be destroyed is, even if other units cannot be.

A machine stays when its last unit is gone, unless --destroy-machines is given: then
a machine that deploy or add-unit made is destroyed as soon as nothing is left on it.
A machine that add-machine added always stays.`,
		Example: `  juju destroy-unit web/1
  juju destroy-unit web/1 --destroy-machines
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
				errs, left, err := api.DestroyUnits(ctx, how, args...)
				if err != nil {
					return err
				}
				destroy.tellLeft(s, "destroy-unit", left)
				if err := bulk("units", "destroyed", errs); err != nil {
					return err
				}
				if err := s.end(ctx, api, how, args...); err != nil {
					return err
				}
				return wait.run(ctx, s, api, gone("destroy-unit", args))
			})
		},
	}
	wait.flag(cmd, "until they are gone")
	destroy.flags(cmd)
	destroy.machinesFlag(cmd)
	s.modelFlag(cmd)
	return cmd
}
