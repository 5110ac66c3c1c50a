package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ShowActionStatusCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "show-action-status [ID]",
		Short: "List actions with their status",
		Long: `List the status of all actions and commands, or of those whose ids begin with ID. The
newer name is operations.`,
		Example: `  juju show-action-status
  juju show-action-status 12`,
		Annotations: cli.SeeAlso("operations", "show-task"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(output.Format, "yaml"); err != nil {
				return err
			}
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api tasksAPI) error { return actionStatus(ctx, s, api, prefix, output) })
		},
	}
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

func actionStatus(ctx context.Context, s *cli.Session, api tasksAPI, prefix string, output cli.Output) error {
	ids, err := api.FindTasks(ctx, prefix)
	if err != nil {
		return err
	}
	if len(ids) == 0 && prefix != "" {
		return noAction(prefix)
	}
	list := []map[string]any{}
	for _, id := range ids {
		task, err := api.Task(ctx, id)
		if entity.IsNotFound(err) {
			continue // removed since they were listed
		} else if err != nil {
			return err
		}
		list = append(list, listedTask(task))
	}
	text, err := cli.Encode(output.Format, map[string]any{"actions": list})
	if err != nil {
		return err
	}
	return s.Write(output, text)
}

// listedTask returns what lists of tasks print of one.
func listedTask(task entity.Task) map[string]any {
	completed := display.Time{Words: "n/a"}
	if !task.Completed.IsZero() {
		completed = display.TimeIn(task.Completed.UTC(), time.DateTime)
	}
	return map[string]any{"id": task.ID, "action": task.Name, receiverKind(task): task.Receiver,
		"status": fmt.Sprint(task.Status), "completed at": completed}
}
