package actions

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func CancelTaskCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "cancel-task ID...",
		Aliases: []string{"cancel-action"},
		Short:   "Cancel tasks",
		Long: `Cancel tasks. A pending task never runs. A running task is killed with all its processes
and becomes aborted; the results it has set are kept. A finished task does not change.`,
		Example:     `  juju cancel-task 12 13`,
		Annotations: cli.SeeAlso("operations", "show-task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no task IDs specified")
			}
			for _, arg := range args {
				if _, err := taskID("task", []string{arg}); err != nil {
					return err
				}
			}
			if err := cli.CheckFormat(output.Format, "yaml"); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api tasksAPI) error { return cancelTasks(ctx, s, api, args, output) })
		},
	}
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func cancelTasks(ctx context.Context, s *cli.Session, api tasksAPI, ids []string, output cli.Output) error {
	tasks, err := api.CancelTasks(ctx, ids...)
	if err != nil {
		return err
	}
	var errs []error
	var cancelled []map[string]any
	for i, t := range tasks {
		if errs = append(errs, t.Err); t.Err == nil {
			cancelled = append(cancelled, listedTask(t.Task))
		} else if entity.IsNotFound(t.Err) {
			errs[i] = noTask(ctx, api, ids[i], t.Err)
		}
	}
	if len(cancelled) > 0 {
		text, err := cli.Encode(output.Format, map[string]any{"actions": cancelled})
		if err == nil {
			err = s.Write(output, text)
		}
		if err != nil {
			return err
		}
	}
	return cli.OneOrBulk("tasks", "cancelled", errs)
}

// noTask adds a hint to the error that a task does not exist: the id may be an operation's.
func noTask(ctx context.Context, api tasksAPI, id string, err error) error {
	o, opErr := api.Operation(ctx, id)
	if opErr != nil {
		return entity.WithHint(err, "To list unfinished tasks: juju operations --status pending,running")
	}
	var ids []string
	for _, t := range o.Tasks {
		ids = append(ids, t.ID)
	}
	return entity.WithHint(err, "%s is an operation. To cancel its tasks: juju cancel-task %s", id, strings.Join(ids, " "))
}
