package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/apiserver/params"
	"juju/state/entity"
)

func destroyServiceCommand(s *session) *cobra.Command {
	var wait waitFlag
	var destroy destroyFlags
	cmd := &cobra.Command{
		Use:     "destroy-service SERVICE...",
		Aliases: []string{"remove-service", "remove-application", "destroy-application"},
		Short:   "Destroy services",
		Long: `Destroy services with all their units and relations. A service is gone when its
last unit is; until then its name is taken.

Machines stay when their last units are gone, unless --destroy-machines is given: then
a machine that deploy or add-unit made is destroyed as soon as nothing is left on it.
A machine that add-machine added always stays.`,
		Example: `  juju destroy-service web
  juju destroy-service web --destroy-machines
  juju destroy-service web store --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := services(args); err != nil {
				return err
			}
			how, err := destroy.read(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return s.withModel(ctx, func(api modelAPI) error {
				left, err := destroyServices(ctx, api, how, args)
				destroy.tellLeft(s, "destroy-service", left)
				if err != nil {
					return err
				}
				if err := s.end(ctx, api, how, args...); err != nil {
					return err
				}
				return wait.run(ctx, s, api, gone("destroy-service", args))
			})
		},
	}
	wait.flag(cmd, "until they are gone")
	destroy.flags(cmd)
	destroy.machinesFlag(cmd)
	s.modelFlag(cmd)
	return cmd
}

func destroyServices(ctx context.Context, api destroyServiceAPI, how entity.Destruction, names []string) (params.MachinesLeft, error) {
	errs, left, err := api.DestroyServices(ctx, how, names...)
	if err != nil {
		return left, err
	}
	if len(errs) == 1 {
		return left, errs[0] // as it was said when the command took one only
	}
	return left, bulk("services", "destroyed", errs)
}
