package storage

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

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
storage-dir, the pool must have the same storage-dir. --dry-run does not check that the
filesystem exists.`,
		Example: `  juju import-filesystem lxd default:juju-0f3c1a-data-0-2c6ee24b09 data
  juju import-filesystem local ~/.local/share/juju/local/local/released/MODEL/data-0 data`,
		Annotations: cli.SeeAlso("storage", "attach-storage", "deploy", "remove-storage", "destroy-environment"),
		Args:        cli.AtMost(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) < 3:
				return cli.Usagef("import-filesystem requires a storage pool, provider ID, and storage name")
			case !entity.IsValidPool(args[0]):
				return cli.Usagef("pool name %q not valid", args[0])
			case !entity.IsValidStore(args[2]):
				return entity.WithHint(cli.Usagef("storage name %q not valid", args[2]), "A storage name is the name of a charm's store, such as data.")
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				if !s.Planning() {
					s.Note("importing %q from storage pool %q as storage %q", args[1], args[0], args[2])
				}
				id, err := api.ImportFilesystem(ctx, args[0], args[1], args[2])
				if err == nil {
					s.Note("imported storage %s", id)
				}
				return err
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
