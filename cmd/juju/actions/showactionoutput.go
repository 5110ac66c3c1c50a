package actions

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

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
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no action ID specified")
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
		return "", noAction(prefix)
	case len(ids) > 1:
		return "", entity.WithHint(entity.Errorf(entity.Invalid, "identifier %q matched multiple actions %v", prefix, ids),
			"Give the whole id of one of them.")
	}
	return ids[0], nil
}

// noAction returns the error if no action has an id that is prefix or begins with it.
func noAction(prefix string) error {
	return entity.WithHint(entity.Errorf(entity.NotFound, "action %q not found", prefix),
		"To list the actions and their ids: juju show-action-status")
}
