package storage

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func AddStorageCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add-storage UNIT STORE[=[POOL,][SIZE,][COUNT]]...",
		Short: "Add storage to a unit",
		Long: `Add new storage to a unit, for a store of its charm. Constraints that are not given
default to those that the service was deployed with, and the count to 1. The unit runs the
hook STORE-storage-attached for each instance.`,
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
			ctx, unit := cmd.Context(), args[0]
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				for _, store := range slices.Sorted(maps.Keys(stores)) {
					ids, err := api.AddStorage(ctx, unit, store, stores[store])
					if err != nil {
						return err
					}
					for _, id := range ids {
						s.Note("added storage %s to %s", id, unit)
					}
				}
				return nil
			})
		},
	}
	s.ModelFlag(cmd)
	return cmd
}

func AttachStorageCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach-storage UNIT STORAGE...",
		Short: "Attach storage to a unit",
		Long: `Attach existing, unattached storage, with its data, to a unit. The unit's charm must have
a store of that name that allows another instance.`,
		Example:     `  juju attach-storage store/1 data/0`,
		Annotations: cli.SeeAlso("storage", "detach-storage", "add-unit", "deploy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("attach-storage requires a unit ID and at least one storage ID")
			}
			if err := cli.CheckUnits(args[:1]); err != nil {
				return err
			}
			ids, err := cli.ParseStorageIDs(args[1:])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				errs, err := api.AttachStorage(ctx, args[0], ids...)
				if err != nil {
					return err
				}
				return eachStorage(s, ids, errs, "attaching %s to "+args[0], "failed to attach %s to "+args[0])
			})
		},
	}
	s.ModelFlag(cmd)
	return cmd
}

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
			ids, err := someStorageIDs(cmd, args)
			if err != nil {
				return err
			}
			how, err := flags.Read(cmd)
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
	return cmd
}

func ImportFilesystemCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import-filesystem POOL PROVIDER-ID STORAGE-NAME",
		Short: "Import a filesystem as storage",
		Long: `Import an existing filesystem of the cloud, with its data, as storage: one that a model
released or, on the cloud lxd, any custom volume that is not attached to an instance. The
storage is for stores named STORAGE-NAME, and is not attached: attach it to a unit, or
deploy a service with it.

Commands that release storage print its PROVIDER-ID. On the cloud lxd it is POOL:VOLUME,
LXD's storage pool and volume; on the cloud local it is the path of a directory, which is
not moved. POOL is one of juju storage-pools; if the storage was created with a
storage-dir, the pool must have the same storage-dir.`,
		Example: `  juju import-filesystem lxd default:juju-0f3c1a-data-0-2c6ee24b09 data
  juju import-filesystem local ~/.local/share/juju/local/local/released/MODEL/data-0 data`,
		Annotations: cli.SeeAlso("storage", "attach-storage", "deploy", "remove-storage", "destroy-environment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) < 3:
				return cli.Usagef("import-filesystem requires a storage pool, provider ID, and storage name")
			case len(args) > 3:
				return cli.Usagef("unrecognized args: %q", args[3:])
			case !entity.IsValidPool(args[0]):
				return cli.Usagef("pool name %q not valid", args[0])
			case !entity.IsValidStore(args[2]):
				return entity.WithHint(cli.Usagef("storage name %q not valid", args[2]), "A storage name is the name of a charm's store, such as data.")
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				s.Note("importing %q from storage pool %q as storage %q", args[1], args[0], args[2])
				id, err := api.ImportFilesystem(ctx, args[0], args[1], args[2])
				if err == nil {
					s.Note("imported storage %s", id)
				}
				return err
			})
		},
	}
	s.ModelFlag(cmd)
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
			ids, err := someStorageIDs(cmd, args)
			if err != nil {
				return err
			}
			how, err := flags.Read(cmd)
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
	return cmd
}
