package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/statusfmt"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

// A ListAPI lists storage.
type ListAPI interface {
	Storage(ctx context.Context) ([]entity.StorageStatus, error)
}

type storageAPI interface {
	cli.LeaderAPI
	ListAPI
	ShowStorage(ctx context.Context, ids ...string) ([]entity.StorageStatus, []error, error)
	AddStorage(ctx context.Context, unit string, stores map[string]entity.StorageConstraints) ([]string, error)
	AttachStorage(ctx context.Context, unit string, ids ...string) ([]error, error)
	DetachStorage(ctx context.Context, how entity.Destruction, ids ...string) ([]error, error)
	RemoveStorage(ctx context.Context, how entity.Destruction, release bool, ids ...string) ([]error, error)
	ImportFilesystem(ctx context.Context, pool, filesystem, store string) (string, error)
	StoragePools(ctx context.Context, names, providers []string) ([]entity.StoragePool, error)
	CreateStoragePool(ctx context.Context, pool entity.StoragePool) error
	UpdateStoragePool(ctx context.Context, name string, attributes map[string]string) error
	RemoveStoragePool(ctx context.Context, name string) error
}

func StorageCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var filesystems, volumes bool
	cmd := &cobra.Command{
		Use:     "storage [MACHINE...]",
		Aliases: []string{"list-storage"},
		Short:   "List storage",
		Long: `List the storage instances of a model with their units. An instance without a unit is not
attached, and can be attached to a unit.

With --filesystem, list the filesystems that hold the data instead, with the cloud's ids
and where they are mounted; with MACHINEs, only theirs. There are no volumes, which are
what --volume lists in Juju.`,
		Example: `  juju storage
  juju storage --filesystem 0
  juju storage --format yaml`,
		Annotations: cli.SeeAlso("show-storage", "attach-storage", "storage-pools", "status"),
		Args: func(cmd *cobra.Command, args []string) error {
			if filesystems || volumes {
				return nil
			}
			return cli.AtMost(0)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, machines []string) error {
			if filesystems && volumes {
				return cli.Usagef("--filesystem and --volume can not be used together")
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				all, err := api.Storage(ctx)
				if err != nil {
					return err
				}
				all = slices.DeleteFunc(slices.Clone(all), func(one entity.StorageStatus) bool {
					return volumes || len(machines) > 0 && (one.Unit == "" || !slices.Contains(machines, one.Machine))
				})
				if len(all) == 0 && output.Format == "tabular" {
					s.Note("No storage to display.")
					return nil
				}
				document, rows := statusfmt.Storage(all, time.Local), rowsOf(all)
				if filesystems {
					document.Storage, rows = nil, filesystemRows(all)
				}
				return s.WriteList(output, document, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&filesystems, "filesystem", false, "list filesystems")
	cmd.Flags().BoolVar(&volumes, "volume", false, "list volumes, of which there are none")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// filesystemRows returns the table of the filesystems of storage, with its header.
func filesystemRows(all []entity.StorageStatus) [][]string {
	rows := [][]string{{"Machine", "Unit", "Storage id", "Id", "Provider id", "Mountpoint", "Size", "State", "Message"}}
	for _, s := range all {
		machine := s.Machine
		if s.Unit == "" {
			machine = ""
		}
		rows = append(rows, []string{machine, s.Unit, s.ID, statusfmt.FilesystemID(s), s.Filesystem, s.Location, entity.MiB(s.Size),
			string(s.Status.Status), s.Status.Message})
	}
	return rows
}

// rowsOf returns the table of storage, with its header.
func rowsOf(all []entity.StorageStatus) [][]string {
	rows := [][]string{{"Unit", "Storage id", "Type", "Pool", "Size", "Status", "Message"}}
	for _, s := range all {
		rows = append(rows, []string{s.Unit, s.ID, entity.StorageKind, s.Pool, entity.MiB(s.Size), string(s.Status.Status),
			s.Status.Message})
	}
	return rows
}

// destroyArgs returns the ids of at least one storage instance, and the strength given by the flags.
func destroyArgs(cmd *cobra.Command, args []string,
	flags *wait.DestroyFlags) (ids []string, how entity.Destruction, err error) {
	ids, err = cli.ParseStorageIDs(args)
	if err == nil && len(ids) == 0 {
		err = cli.Usagef("%s requires at least one storage ID", cmd.Name())
	}
	if err == nil {
		how, err = flags.Read(cmd)
	}
	return ids, how, err
}

// eachStorage reports the results of a bulk call, one line for each storage instance.
func eachStorage(s *cli.Session, ids []string, errs []error, done, failed string) error {
	var all []error
	for i, err := range errs {
		if i >= len(ids) {
			break
		}
		if err == nil {
			s.Note(done, ids[i])
			continue
		}
		all = append(all, fmt.Errorf(failed+": %w", ids[i], err))
	}
	return errors.Join(all...)
}
