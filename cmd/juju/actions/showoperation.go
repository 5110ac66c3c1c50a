package actions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func ShowOperationCommand(s *cli.Session) *cobra.Command {
	wait, output := noWait, cli.Output{}
	cmd := &cobra.Command{
		Use:   "show-operation ID",
		Short: "Show an operation and the results of its tasks",
		Long: `Show an operation with all its tasks and their results. With --wait or --watch, wait until
all its tasks have finished.`,
		Example: `  juju show-operation 11
  juju show-operation 11 --wait=5m`,
		Annotations: cli.SeeAlso("operations", "show-task", "run-action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := taskID("operation", args)
			if err != nil {
				return err
			}
			if err := cli.CheckFormat(output.Format, "yaml"); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api tasksAPI) error {
				o, err := api.Operation(ctx, id)
				if err == nil && wait.waits() {
					o, err = awaitOperation(ctx, s, api, id, wait.duration(), unseen)
				}
				if err != nil && !errors.Is(err, errStillRunning) {
					return err
				}
				text, err := cli.Encode(output.Format, operationValue(o))
				if err != nil {
					return fmt.Errorf("cannot print the operation: %w", err)
				}
				return s.Write(output, text)
			})
		},
	}
	taskFlags(cmd, &wait, &output)
	watchFlag(cmd, &wait)
	s.ModelFlag(cmd)
	return cmd
}
