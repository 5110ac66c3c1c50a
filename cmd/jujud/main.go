package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"juju/agent/controller"
	"juju/state/entity"
	"juju/state/entity/flagerror"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal cancels the context; the second one kills, as usual.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, root()))
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jujud",
		Short: "Run a juju controller, or its store",
		Long: `Run a juju controller, or its store. juju bootstrap and juju destroy-environment call the
commands that manage controllers; mongod and mongo-proxy are for developers and for repairs.`,
		Version:           controller.Build(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagerror.Plain(err)} })
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.AddCommand(versionCommand(), charmhubCommand(), bootstrapCommand(), restoreCommand(), controllerCommand(),
		removeStoreCommand(), migrateStoreCommand(),
		mongodCommand(), mongoProxyCommand(), commandLineCommand())
	return cmd
}

// run runs the command, reports its error and returns the exit code.
func run(ctx context.Context, cmd *cobra.Command) int {
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "ERROR %v\n", err)
	if hint := entity.Hint(err); hint != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), hint)
	}
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// A usageError is an invalid command line.
type usageError struct{ error }
