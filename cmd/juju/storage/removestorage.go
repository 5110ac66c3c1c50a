package storage

import (
	"slices"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func RemoveStorageCommand(s *cli.Session) *cobra.Command {
	var flags wait.DestroyFlags
	var keep bool
	cmd := &cobra.Command{
		Use:   "remove-storage STORAGE...",
		Short: "Remove storage with its data",
		Long: `Remove storage and destroy its data or, with --no-destroy, keep the data in the cloud.
Attached storage cannot be removed without --force, which detaches it.

--no-destroy also keeps the data of storage that is already being removed, as long as the
cloud has not started to destroy it. Until the cloud has released the storage, destroying
the controller with --destroy-storage destroys it; "juju explain STORAGE" says so.`,
		Example: `  juju remove-storage data/0
  juju remove-storage data/0 --force
  juju remove-storage data/0 --no-destroy`,
		Annotations: cli.SeeAlso("storage", "detach-storage", "import-filesystem"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, how, err := destroyArgs(cmd, args, &flags)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			done := "removing %s"
			if keep {
				done = "releasing %s"
			}
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				var kept []entity.StorageStatus
				if keep {
					all, err := api.Storage(ctx)
					if err != nil {
						return err
					}
					kept = all
				}
				errs, err := api.RemoveStorage(ctx, how, keep, ids...)
				if err != nil {
					return err
				}
				err = eachStorage(s, ids, errs, done, "failed to remove %s")
				NoteKept(s, slices.DeleteFunc(kept, func(one entity.StorageStatus) bool {
					i := slices.Index(ids, one.ID)
					return i < 0 || i < len(errs) && errs[i] != nil
				}))
				return err
			})
		},
	}
	flags.AddForce(cmd, "also remove attached storage; detach it after --timeout, whatever the unit does")
	cmd.Flags().BoolVar(&keep, "no-destroy", false, "keep the data")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// NoteKept prints how to import storage whose data is kept.
func NoteKept(s *cli.Session, all []entity.StorageStatus) {
	for _, one := range all {
		if one.ImportID != "" {
			s.Note("The data of %s is kept. To import it into a model once it is released: juju import-filesystem %s %s %s",
				one.ID, one.Pool, one.ImportID, entity.StoreOf(one.ID))
		}
	}
}
