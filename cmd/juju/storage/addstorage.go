package storage

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func AddStorageCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add-storage UNIT STORE[=[POOL,][SIZE,][COUNT]]...",
		Short: "Add storage to a unit",
		Long: `Add new storage to a unit, for a store of its charm. Constraints that are not given
default to those that the service was deployed with, and the count to 1. The unit runs the
hook STORE-storage-attached for each instance. SERVICE/leader is the service's leader.`,
		Example: `  juju add-storage web/0 cache
  juju add-storage web/0 cache=10G,2
  juju add-storage web/0 cache=rootfs,1G`,
		Annotations: cli.SeeAlso("storage", "attach-storage", "deploy", "storage-pools"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("storage add requires a unit and a storage directive")
			}
			if err := cli.CheckUnits(args[:1]); err != nil {
				return err
			}
			stores, err := entity.ParseStorage(args[1:], false)
			if err != nil {
				return cli.Usage(err)
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				unit, err := cli.Leading(ctx, api, args[0])
				if err != nil {
					return err
				}
				ids, err := api.AddStorage(ctx, unit, stores)
				for _, id := range ids {
					s.Note("added storage %s to %s", id, unit)
				}
				return err
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
