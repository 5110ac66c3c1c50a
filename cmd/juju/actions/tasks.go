package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func (w waitTime) duration() time.Duration { return time.Duration(w) }

// taskID returns the only argument, the id of a task or operation.
func taskID(what string, args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", cli.Usagef("no %s ID specified", what)
	case len(args) > 1:
		return "", cli.Usagef("unrecognized args: %q", args[1:])
	case !entity.IsValidTask(args[0]):
		return "", entity.WithHint(cli.Usagef("%s ID %q not valid", what, args[0]), "An ID is a number. To list the operations: juju operations")
	}
	return args[0], nil
}

func ShowTaskCommand(s *cli.Session) *cobra.Command {
	wait, output := noWait, cli.Output{}
	cmd := &cobra.Command{
		Use:   "show-task ID",
		Short: "Show a task and its results",
		Long: `Show the status, log messages and results of a task: an action on a unit, or a command on
a unit or machine. With --wait or --watch, wait until it has finished.`,
		Example: `  juju show-task 12
  juju show-task 12 --watch
  juju show-task 12 --wait=1m --format json`,
		Annotations: cli.SeeAlso("run-action", "run", "operations", "cancel-task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := taskID("task", args)
			if err != nil {
				return err
			}
			return showTask(cmd.Context(), s, wait, output, func(context.Context, tasksAPI) (string, error) { return id, nil })
		},
	}
	taskFlags(cmd, &wait, &output)
	watchFlag(cmd, &wait)
	s.ModelFlag(cmd)
	return cmd
}

// watchFlag adds the flag --watch, which waits without limit.
func watchFlag(cmd *cobra.Command, wait *waitTime) {
	watch := false
	cmd.Flags().BoolVar(&watch, "watch", false, "wait until it has finished, without limit")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if watch && cmd.Flags().Changed("wait") {
			return cli.WithHelp(cmd, cli.Usagef("specify either --watch or --wait but not both"))
		}
		if watch {
			*wait = forEver
		}
		return nil
	}
}

func taskFlags(cmd *cobra.Command, wait *waitTime, output *cli.Output) {
	cmd.Flags().Var(wait, "wait", "how long to wait for it to finish: -1s to not wait, 0 to wait without limit")
	cmd.Flags().Lookup("wait").NoOptDefVal = forEver.String()
	output.Flags(cmd, "yaml", "yaml", "json")
}

func ShowActionOutputCommand(s *cli.Session) *cobra.Command {
	wait, output := noWait, cli.Output{}
	cmd := &cobra.Command{
		Use:   "show-action-output ID",
		Short: "Show the results of an action",
		Long: `Show the results of an action, given its id or a unique prefix of it. With --wait, wait
until the action has finished. The newer name is show-task.`,
		Example: `  juju show-action-output 12
  juju show-action-output 12 --wait 10s`,
		Annotations: cli.SeeAlso("show-task", "run-action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("no action ID specified")
			case len(args) > 1:
				return cli.Usagef("unrecognized args: %q", args[1:])
			}
			return showTask(cmd.Context(), s, wait, output, func(ctx context.Context, api tasksAPI) (string, error) {
				return findTask(ctx, api, args[0])
			})
		},
	}
	taskFlags(cmd, &wait, &output)
	cmd.Flags().Lookup("wait").NoOptDefVal = "" // as in Juju 2, the time is the next argument
	s.ModelFlag(cmd)
	return cmd
}

// findTask returns the id of the task with this id or unique prefix.
func findTask(ctx context.Context, api tasksAPI, prefix string) (string, error) {
	ids, err := api.FindTasks(ctx, prefix)
	switch {
	case err != nil:
		return "", err
	case slices.Contains(ids, prefix):
		return prefix, nil
	case len(ids) == 0:
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "actions for identifier %q not found", prefix),
			"To list the operations: juju operations")
	case len(ids) > 1:
		return "", entity.Errorf(entity.Invalid, "identifier %q matched multiple actions %v", prefix, ids)
	}
	return ids[0], nil
}

// showTask prints a task, after waiting for it to finish if asked to.
func showTask(
	ctx context.Context, s *cli.Session, wait waitTime, output cli.Output, find func(context.Context, tasksAPI) (string, error),
) error {
	if err := cli.CheckFormat(output.Format, "yaml"); err != nil {
		return err
	}
	return cli.WithModel(ctx, s, func(api tasksAPI) error {
		id, err := find(ctx, api)
		if err != nil {
			return err
		}
		task, err := awaitTask(ctx, s, api, id, wait)
		if err != nil {
			return err
		}
		text, err := cli.Encode(output.Format, taskValue(task))
		if err != nil {
			return err
		}
		return s.Write(output, text)
	})
}

// awaitTask returns a task once it has finished or the limit has passed.
func awaitTask(ctx context.Context, s *cli.Session, api tasksAPI, id string, limit waitTime) (entity.Task, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit.duration())
		defer cancel()
	}
	if limit.waits() {
		s.WaitsFor("The task is still running. To see it: juju show-task %s; to cancel it: juju cancel-task %[1]s", id)
	}
	gap := wait.MinGap
	for {
		task, err := api.Task(ctx, id)
		if err != nil || !limit.waits() || task.Status.IsOver() {
			return task, err
		}
		// A task does not record its operation, which could be watched, so poll.
		if gap = min(2*gap, wait.MaxGap); !wait.Sleep(ctx, gap) {
			if limit > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return task, nil
			}
			return task, context.Cause(ctx)
		}
	}
}

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
	return cmd
}

func cancelTasks(ctx context.Context, s *cli.Session, api tasksAPI, ids []string, output cli.Output) error {
	tasks, err := api.CancelTasks(ctx, ids...)
	if err != nil {
		return err
	}
	var errs []error
	value := map[string]any{}
	for i, t := range tasks {
		if errs = append(errs, t.Err); t.Err == nil {
			value[ids[i]] = taskValue(t.Task)
		} else if entity.IsNotFound(t.Err) {
			errs[i] = noTask(ctx, api, ids[i], t.Err)
		}
	}
	if len(value) > 0 {
		text, err := cli.Encode(output.Format, value)
		if err == nil {
			err = s.Write(output, text)
		}
		if err != nil {
			return err
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return cli.Bulk("tasks", "cancelled", errs)
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("unrecognized args: %q", args[1:])
			}
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
		return entity.WithHint(entity.Errorf(entity.NotFound, "actions for identifier %q not found", prefix),
			"To list the operations: juju operations")
	}
	list := []map[string]any{}
	for _, id := range ids {
		task, err := api.Task(ctx, id)
		if entity.IsNotFound(err) {
			continue // removed since they were listed
		} else if err != nil {
			return err
		}
		completed := "n/a"
		if !task.Completed.IsZero() {
			completed = task.Completed.UTC().Format(time.DateTime)
		}
		list = append(list, map[string]any{"id": task.ID, "action": task.Name, receiverKind(task): task.Receiver,
			"status": fmt.Sprint(task.Status), "completed at": completed})
	}
	text, err := cli.Encode(output.Format, map[string]any{"actions": list})
	if err != nil {
		return err
	}
	return s.Write(output, text)
}
