package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
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
	cmd := &cobra.Command{
		Use:     "storage",
		Aliases: []string{"list-storage"},
		Short:   "List storage",
		Long: `List the storage instances of a model with their units. An instance without a unit is not
attached, and can be attached to a unit.`,
		Example: `  juju storage
  juju storage --format yaml`,
		Annotations: cli.SeeAlso("show-storage", "attach-storage", "storage-pools", "status"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				all, err := api.Storage(ctx)
				if err != nil {
					return err
				}
				if len(all) == 0 && output.Format == "tabular" {
					s.Note("No storage to display.")
					return nil
				}
				return s.WriteList(output, shownStorage(s, all), Rows(all))
			})
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// Rows returns the table of storage, with its header.
func Rows(all []entity.StorageStatus) [][]string {
	rows := [][]string{{"Unit", "Storage id", "Type", "Pool", "Size", "Status", "Message"}}
	for _, s := range all {
		rows = append(rows, []string{s.Unit, s.ID, entity.StorageKind, s.Pool, entity.MiB(s.Size), string(s.Status.Status),
			s.Status.Message})
	}
	return rows
}

// The YAML and JSON forms of storage.
type (
	storageDocument struct {
		Storage map[string]storageEntry `yaml:"storage" json:"storage"`
	}
	storageEntry struct {
		Kind        string              `yaml:"kind" json:"kind"`
		Pool        string              `yaml:"pool" json:"pool"`
		Size        uint64              `yaml:"size" json:"size"` // MiB
		Life        string              `yaml:"life" json:"life"`
		Status      storageWord         `yaml:"status" json:"status"`
		Persistent  bool                `yaml:"persistent" json:"persistent"`
		Attachments *storageAttachments `yaml:"attachments,omitempty" json:"attachments,omitempty"`
	}
	storageWord struct {
		Current string       `yaml:"current" json:"current"`
		Message string       `yaml:"message,omitempty" json:"message,omitempty"`
		Since   display.Time `yaml:"since,omitempty" json:"since,omitzero"`
	}
	storageAttachments struct {
		Units map[string]storageAttachment `yaml:"units" json:"units"`
	}
	storageAttachment struct {
		Machine  string `yaml:"machine,omitempty" json:"machine,omitempty"`
		Location string `yaml:"location,omitempty" json:"location,omitempty"`
		Life     string `yaml:"life" json:"life"`
	}
)

func shownStorage(s *cli.Session, all []entity.StorageStatus) storageDocument {
	shown := storageDocument{Storage: map[string]storageEntry{}}
	for _, one := range all {
		entry := storageEntry{Kind: entity.StorageKind, Pool: one.Pool, Size: one.Size, Life: one.Life.String(),
			Persistent: one.Persistent,
			Status: storageWord{Current: string(one.Status.Status), Message: one.Status.Message,
				Since: display.TimeIn(one.Status.Since.Local(), "02 Jan 2006 15:04:05Z07:00")}}
		if one.Unit != "" {
			entry.Attachments = &storageAttachments{Units: map[string]storageAttachment{
				one.Unit: {Machine: one.Machine, Location: one.Location, Life: one.AttachmentLife.String()}}}
		}
		shown.Storage[one.ID] = entry
	}
	return shown
}

// destroyArgs returns the ids of at least one storage instance, and the strength given by the flags.
func destroyArgs(cmd *cobra.Command, args []string, flags *wait.DestroyFlags) (ids []string, how entity.Destruction, err error) {
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
