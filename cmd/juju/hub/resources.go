package hub

import (
	"fmt"

	"github.com/spf13/cobra"

	"juju/charm/charmhub"
	"juju/cmd/juju/cli"
)

// A shownResource is a resource of a charm in a store, as Juju prints it.
type shownResource struct {
	Name        string `json:"name" yaml:"name"`
	Type        string `json:"type" yaml:"type"`
	Path        string `json:"path" yaml:"path"`
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	Revision    int    `json:"revision" yaml:"revision"`
	Fingerprint string `json:"fingerprint" yaml:"fingerprint"` // SHA-384 in hex
	Size        int64  `json:"size" yaml:"size"`               // in bytes
	Origin      string `json:"origin" yaml:"origin"`
}

// CharmResourcesCommand lists the resources of a charm in a store.
func CharmResourcesCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var store storeFlag
	var chosen choiceFlags
	cmd := &cobra.Command{
		Use:     "charm-resources CHARM",
		Aliases: []string{"list-charm-resources"},
		Short:   "List the resources of a charm in a charm store",
		Long: `List the resources that come with a charm in a channel of a charm store, with their
revisions. juju resources lists those of a service that is deployed.`,
		Example: `  juju charm-resources postgresql
  juju charm-resources postgresql --channel 14/edge --format yaml`,
		Annotations: cli.SeeAlso("resources", "info", "attach-resource"),
		Args:        one,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := chosen.check(args[0])
			if err != nil {
				return err
			}
			client, err := store.open(s)
			if err != nil {
				return err
			}
			defer client.Close()
			answer, err := client.Choose(cmd.Context(), charmhub.Download, want)
			if err != nil {
				return err
			}
			rows, all := [][]string{{"Resource", "Revision"}}, []shownResource{}
			for _, r := range answer.Entity.Resources {
				all = append(all, shownResource{r.Name, r.Type, r.Filename, r.Description, r.Revision, r.Download.HashSHA384, r.Download.Size, "store"})
				rows = append(rows, []string{r.Name, fmt.Sprint(r.Revision)})
			}
			if len(all) == 0 && output.Format == "tabular" {
				s.Note("No resources to display.")
				return nil
			}
			return s.WriteList(output, all, rows)
		},
	}
	store.add(cmd)
	chosen.add(cmd, "stable")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	return cmd
}
