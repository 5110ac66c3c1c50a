package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/display"
	"juju/state/entity"
)

func actionsCommand(s *session) *cobra.Command {
	schema := false
	var output output
	cmd := &cobra.Command{
		Use:     "actions SERVICE",
		Aliases: []string{"list-actions"},
		Short:   "List the actions of a service",
		Long: `List the actions that the charm of a service defines, and what they are for. With
--schema, print the JSON schema of each action's parameters.`,
		Example: `  juju actions store
  juju actions store --schema --format json`,
		Annotations: seeAlso("run-action", "show-action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneService(args); err != nil {
				return err
			}
			if schema && !output.isChosen() {
				output.format = "yaml"
			}
			if err := checkListFormat(output.format); err != nil {
				return err
			}
			if schema && output.format == "tabular" {
				return usagef("full schema not compatible with tabular output")
			}
			return withModel(cmd.Context(), s, func(api tasksAPI) error {
				all, err := api.ServiceActions(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return s.listActions(args[0], all, schema, output)
			})
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the full schema of each action")
	output.flags(cmd, "tabular", listFormats...)
	s.modelFlag(cmd)
	return cmd
}

func (s *session) listActions(service string, all map[string]client.ActionInfo, schema bool, output output) error {
	if len(all) == 0 && output.format == "tabular" {
		s.note("No actions defined for %s.", service)
		return nil
	}
	rows, value := [][]string{{"Action", "Description"}}, map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first, _, _ := strings.Cut(all[name].Description, "\n")
		rows = append(rows, []string{name, first})
		if value[name] = all[name].Description; schema {
			value[name] = all[name].Schema
		}
	}
	return s.writeList(output, value, rows)
}

func showActionCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show-action SERVICE ACTION",
		Short: "Show an action and its parameters",
		Long: `Show what an action of a service's charm is for, and the parameters that it takes, as the
charm describes them.`,
		Example:     `  juju show-action store backup`,
		Annotations: seeAlso("actions", "run-action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := services(args[:min(1, len(args))]); err != nil {
				return err
			}
			switch {
			case len(args) == 1:
				return usagef("no action name specified")
			case len(args) > 2:
				return usagef("unrecognized args: %q", args[2:])
			}
			return withModel(cmd.Context(), s, func(api tasksAPI) error {
				all, err := api.ServiceActions(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				info, ok := all[args[1]]
				if !ok {
					return entity.WithHint(entity.Errorf(entity.NotFound, "unknown action %q", args[1]),
						"See which there are: juju actions %s", args[0])
				}
				return s.showAction(info)
			})
		},
	}
	s.modelFlag(cmd)
	return cmd
}

func (s *session) showAction(info client.ActionInfo) error {
	if info.Description != "" {
		fmt.Fprintf(s.stdout, "%s\n\n", display.Message(info.Description, "  "))
	}
	params, _ := info.Schema["properties"].(map[string]any)
	if len(params) == 0 {
		fmt.Fprintln(s.stdout, "It takes no parameters.")
		return nil
	}
	text, err := encode("yaml", params)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "Arguments\n%s", text)
	return nil
}

// tasksAPI is what the commands about tasks call.
type tasksAPI interface {
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
