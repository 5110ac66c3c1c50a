package storage

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/statusfmt"
	"juju/cmd/juju/cli"
)

func ShowStorageCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "show-storage STORAGE...",
		Short: "Show storage",
		Long:  "Show storage instances, with their units and the paths where they are mounted.",
		Example: `  juju show-storage data/0
  juju show-storage data/0 logs/1 --format json`,
		Annotations: cli.SeeAlso("storage", "attach-storage", "explain"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := cli.ParseStorageIDs(args)
			if err == nil && len(ids) == 0 {
				err = cli.Usagef("must specify storage id(s)")
			}
			if err != nil {
				return err
			}
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				all, errs, err := api.ShowStorage(ctx, ids...)
				if err = errors.Join(append([]error{err}, errs...)...); err != nil {
					return err
				}
				text, err := cli.Encode(output.Format, statusfmt.Storage(all, time.Local).Storage)
				if err != nil {
					return err
				}
				return s.Write(output, text)
			})
		},
	}
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}
