package actions

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

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

// taskID returns the only argument, the id of a task or operation.
func taskID(what string, args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", cli.Usagef("no %s ID specified", what)
	case len(args) > 1:
		return "", cli.Usagef("unrecognized args: %q", args[1:])
	case !entity.IsValidTask(args[0]):
		return "", entity.WithHint(cli.Usagef("%s ID %q not valid", what, args[0]),
			"An ID is a number. To list the operations: juju operations")
	}
	return args[0], nil
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

// showTask prints a task, after waiting for it to finish if asked to.
func showTask(
	ctx context.Context, s *cli.Session, wait waitTime, output cli.Output,
	find func(context.Context, tasksAPI) (string, error),
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
	pauses := backoff.New(2*wait.MinGap, wait.MaxGap)
	p := s.AwaitQuickly()
	defer p.Clear()
	for {
		task, err := api.Task(ctx, id)
		if err != nil || !limit.waits() || task.Status.IsOver() {
			return task, err
		}
		p.Await("", awaited([]entity.Task{task}))
		// A task does not record its operation, which could be watched, so poll.
		if pauses.Sleep(ctx) != nil {
			if limit > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return task, nil
			}
			return task, context.Cause(ctx)
		}
	}
}
