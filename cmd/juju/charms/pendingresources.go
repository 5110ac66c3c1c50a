package charms

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func PendingResourcesCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var clearing, allUsers bool
	cmd := &cobra.Command{
		Use:     "pending-resources [SERVICE...]",
		Aliases: []string{"list-pending-resources"},
		Short:   "List or remove uploads of resources that no service uses",
		Long: `List the uploads of resources that no service uses: those of deployments and upgrades
that are in progress, and those that such commands left when they failed. A new upload
replaces the user's earlier one for the same resource of the same service. A user can have
200 of them in a model; they are removed 24 hours after they were added.

--clear removes yours, and --clear --all-users also those of others, for which you need
admin access to the model. A deployment in progress fails if it needs one of these.`,
		Example: `  juju pending-resources
  juju pending-resources --clear
  juju pending-resources --clear --all-users web`,
		Annotations: cli.SeeAlso("attach-resource", "deploy", "resources"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := cli.CheckServices(args); err != nil {
					return err
				}
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			if allUsers && !clearing {
				return cli.Usagef("--all-users is for --clear; without it, the uploads of all users are listed")
			}
			return cli.WithModel(cmd.Context(), s, func(api pendingResourcesAPI) error {
				if clearing {
					cleared, err := api.ClearPendingResources(cmd.Context(), args, allUsers)
					if err == nil {
						s.Note("Removed %s.", entity.Counted(len(cleared), "pending resource"))
					}
					return err
				}
				all, err := api.PendingResources(cmd.Context())
				if err != nil {
					return err
				}
				return writePending(s, output, args, all)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&clearing, "clear", false, "remove your pending resources")
	f.BoolVar(&allUsers, "all-users", false, "with --clear, remove those of all users")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

type pendingResourcesAPI interface {
	PendingResources(ctx context.Context) ([]entity.PendingResource, error)
	ClearPendingResources(ctx context.Context, services []string, allUsers bool) ([]entity.PendingResource, error)
}

// A pendingEntry is the YAML and JSON form of a pending resource.
type pendingEntry struct {
	Application string `yaml:"application" json:"application"`
	Name        string `yaml:"name" json:"name"`
	User        string `yaml:"username" json:"username"`
	Began       string `yaml:"began" json:"began"`
	Size        int64  `yaml:"size" json:"size"` // in bytes
	Uploaded    bool   `yaml:"uploaded" json:"uploaded"`
}

// writePending prints the pending resources of some services, or of all.
func writePending(s *cli.Session, output cli.Output, services []string, all []entity.PendingResource) error {
	entries, rows := []pendingEntry{}, [][]string{{"Service", "Resource", "User", "Began", "Bytes"}}
	for _, r := range all {
		if len(services) > 0 && !slices.Contains(services, r.Service) {
			continue
		}
		began, size := r.Began.UTC().Format("2006-01-02T15:04:05Z"), "-"
		if r.Stored {
			size = strconv.FormatInt(r.Size, 10)
		}
		entries = append(entries, pendingEntry{r.Service, r.Resource, r.User, began, r.Size, r.Stored})
		rows = append(rows, []string{r.Service, r.Resource, r.User, began, size})
	}
	if len(entries) == 0 && output.Format == "tabular" {
		s.Note("No pending resources to display.")
		return nil
	}
	return s.WriteList(output, map[string][]pendingEntry{"pending-resources": entries}, rows)
}
