package storage

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func StoragePoolsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var names, providers []string
	cmd := &cobra.Command{
		Use:     "storage-pools",
		Aliases: []string{"list-storage-pools"},
		Short:   "List storage pools",
		Long: `List the storage pools. The pool named after the cloud is the default; its storage
outlives machines. Storage from rootfs is on a machine's disk, and is removed with it.`,
		Example: `  juju storage-pools
  juju storage-pools --provider rootfs --format yaml`,
		Annotations: cli.SeeAlso("storage", "deploy", "add-storage", "create-storage-pool"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				pools, err := api.StoragePools(ctx, names, providers)
				if err != nil {
					return err
				}
				rows := [][]string{{"Name", "Provider", "Attributes"}}
				shown := map[string]shownPool{}
				for _, p := range pools {
					rows = append(rows, []string{p.Name, p.Provider, attributesText(p.Attributes)})
					shown[p.Name] = shownPool{p.Provider, p.Attributes}
				}
				if len(pools) == 0 && output.Format == "tabular" {
					s.Note("No storage pools to display.")
					return nil
				}
				return s.WriteList(output, shown, rows)
			})
		},
	}
	cmd.Flags().StringSliceVar(&names, "name", nil, "list only the pools with these `names`")
	cmd.Flags().StringSliceVar(&providers, "provider", nil, "list only the pools of these `providers`")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// A shownPool is a pool as storage-pools shows it.
type shownPool struct {
	Provider   string            `json:"provider" yaml:"provider"`
	Attributes map[string]string `json:"attrs,omitempty" yaml:"attrs,omitempty"`
}
