package actions

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ActionsCommand(s *cli.Session) *cobra.Command {
	schema := false
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "actions SERVICE",
		Aliases: []string{"list-actions"},
		Short:   "List the actions of a service",
		Long: `List the actions that a service's charm defines, with their descriptions. With --schema,
print the JSON schema of each action's parameters.`,
		Example: `  juju actions store
  juju actions store --schema --format json`,
		Annotations: cli.SeeAlso("run-action", "show-action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckService(args); err != nil {
				return err
			}
			if schema && !output.IsChosen() {
				output.Format = "yaml"
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			if schema && output.Format == "tabular" {
				return cli.Usagef("full schema not compatible with tabular output")
			}
			return cli.WithModel(cmd.Context(), s, func(api tasksAPI) error {
				all, err := api.ServiceActions(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return listActions(s, args[0], all, schema, output)
			})
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the full schema of each action")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

func listActions(s *cli.Session, service string, all map[string]client.ActionInfo, schema bool,
	output cli.Output) error {
	if len(all) == 0 && output.Format == "tabular" {
		s.Note("No actions defined for %s.", service)
		return nil
	}
	rows, value := [][]string{{"Action", "Description"}}, map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first, _, _ := strings.Cut(all[name].Description, "\n")
		rows = append(rows, []string{name, first})
		if value[name] = cmp.Or(all[name].Description, "No description"); schema {
			value[name] = all[name].Schema
		}
	}
	return s.WriteList(output, value, rows)
}

type tasksAPI interface {
	cli.LeaderAPI
	ServiceActions(ctx context.Context, service string) (map[string]client.ActionInfo, error)
	EnqueueActions(ctx context.Context, action string, values map[string]any, units ...string) (
		operation string, tasks []client.Enqueued, err error)
	RunCommand(ctx context.Context, args client.RunArgs) (operation string, tasks []client.Enqueued, err error)
	Task(ctx context.Context, id string) (entity.Task, error)
	CancelTasks(ctx context.Context, ids ...string) ([]client.Enqueued, error)
	FindTasks(ctx context.Context, prefix string) ([]string, error)
	Operation(ctx context.Context, id string) (entity.Operation, error)
	Operations(ctx context.Context, q client.OperationQuery) (all []entity.Operation, more bool, err error)
	WatchOperation(ctx context.Context, id string) (<-chan struct{}, error)
}
