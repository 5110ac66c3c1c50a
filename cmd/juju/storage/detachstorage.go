package storage

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
)

func DetachStorageCommand(s *cli.Session) *cobra.Command {
	var flags wait.DestroyFlags
	cmd := &cobra.Command{
		Use:   "detach-storage STORAGE...",
		Short: "Detach storage from its unit",
		Long: `Detach storage from its unit, once the unit has run the hook STORE-storage-detaching. The
storage is kept with its data, and can be attached to another unit. Storage that the charm
requires cannot be detached without --force.

With --force, the storage is detached after --timeout whatever the unit's agent does.`,
		Example: `  juju detach-storage data/0
  juju detach-storage data/0 --force`,
		Annotations: cli.SeeAlso("storage", "attach-storage", "remove-storage"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, how, err := destroyArgs(cmd, args, &flags)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				errs, err := api.DetachStorage(ctx, how, ids...)
				if err != nil {
					return err
				}
				return eachStorage(s, ids, errs, "detaching %s", "failed to detach %s")
			})
		},
	}
	flags.AddForce(cmd, "detach it after --timeout, whatever the unit does")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
