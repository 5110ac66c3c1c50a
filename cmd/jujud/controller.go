package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"juju/agent/controller"
	"juju/state/entity"
)

// bootstrapCommand creates a controller, for `juju bootstrap`. It reads its parameters from standard input, because
// they include a password.
func bootstrapCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "bootstrap --dir DIR",
		Short: "Create a controller in a directory (used by juju bootstrap)",
		Long: `Create a controller in a directory: its keys, its store and its first model. It reads its
parameters as JSON from standard input, and prints what clients need to reach the
controller as JSON. It does not run the controller. juju bootstrap calls it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p controller.BootstrapParams
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&p); err != nil {
				return fmt.Errorf("cannot read the parameters: %w", err)
			}
			made, err := controller.Bootstrap(cmd.Context(), dir, p, controller.Options{})
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(made)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", dirUsage)
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

// restoreCommand creates a controller from a backup, for `juju restore-backup`.
func restoreCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "restore --dir DIR",
		Short: "Create a controller from a backup (used by juju restore-backup)",
		Long: `Create a controller in a directory from a backup. It reads its parameters, as JSON in one
line, and then the backup, decrypted, from standard input. It prints what clients need to
reach the controller as JSON. It does not run the controller. juju restore-backup calls it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p controller.RestoreParams
			in := bufio.NewReader(cmd.InOrStdin())
			line, err := in.ReadBytes('\n')
			if err == nil {
				err = json.Unmarshal(line, &p)
			}
			if err != nil {
				return fmt.Errorf("cannot read the parameters: %w", err)
			}
			made, err := controller.Restore(cmd.Context(), dir, in, p, controller.Options{})
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(made)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", dirUsage)
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

const dirUsage = "the directory of the controller's cloud; the controller's files are in DIR/controller"

// controllerCommand runs a controller.
func controllerCommand() *cobra.Command {
	var dir, node string
	var format entity.LogFormat
	cmd := &cobra.Command{
		Use:   "controller --dir DIR [--node DIR]",
		Short: "Run the controller in a directory (started by its keeper)",
		Long: `Run the controller in a directory until it is interrupted: its API server, its workers and,
unless it uses a MongoDB, its store. Its keeper, a process that juju starts, calls it,
and calls it again when it has died.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := controller.Enter(dir, node, true); err != nil {
				return err
			}
			if err := controller.StartLog(dir, node, format); err != nil {
				return err
			}
			controller.LimitMemory(os.DirFS("/"))
			return controller.Run(cmd.Context(), dir, controller.Options{Configured: controller.ConfigureLog, Node: node, LogFormat: format,
				CommandLine: []string{ownProgram, commandLineName}})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", dirUsage)
	cmd.Flags().TextVar(&format, "log-format", entity.LogFormat(""),
		"the `FORMAT` of the logs of this controller and of the agents of "+
			"new machines, text or json, instead of that of juju bootstrap")
	cmd.Flags().StringVar(&node, "node", "", "the controller's own `DIR`, for one that enable-ha has added")
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

// must panics on an error. It is for programming errors, which appear on the first run.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// removeStoreCommand removes a controller's databases from a MongoDB, for `juju
// destroy-environment`.
func removeStoreCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "remove-store --dir DIR",
		Short: "Remove a controller's databases from its MongoDB (used by juju destroy-environment)",
		Long: `Remove the databases of a controller from the MongoDB that its directory names. Databases
of other controllers stay. juju destroy-environment calls it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := controller.Enter(dir, "", false); err != nil {
				return err
			}
			return controller.RemoveStore(cmd.Context(), dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", dirUsage)
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

// migrateStoreCommand moves a controller's store, for `juju migrate-store`. It reads the URL from standard input, because it
// may include a password.
func migrateStoreCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "migrate-store --dir DIR",
		Short: "Move a controller's store (used by juju migrate-store)",
		Long: `Move the store of a controller that is not running to the MongoDB whose URL is on standard
input or, if there is none, to the embedded store. juju migrate-store calls it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := controller.Enter(dir, "", false); err != nil {
				return err
			}
			url, err := io.ReadAll(cmd.InOrStdin())
			if err != nil {
				return fmt.Errorf("cannot read the URL: %w", err)
			}
			return controller.MigrateStore(cmd.Context(), dir, strings.TrimSpace(string(url)), controller.Options{})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", dirUsage)
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

// versionCommand prints the version, with which binaries are checked before they are trusted to run. It prints nothing
// else, because controllers of older builds compare the output; --version prints the build.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), controller.Version())
			return err
		},
	}
}
