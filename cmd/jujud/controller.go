package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"juju/agent/controller"
)

// bootstrapCommand creates a controller, for `juju bootstrap`. It reads its parameters from
// standard input, since they include a password.
func bootstrapCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "bootstrap --dir DIR",
		Short: "Create a controller in a directory (used by juju bootstrap)",
		Args:  cobra.NoArgs,
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
	cmd.Flags().StringVar(&dir, "dir", "", "the controller's directory")
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

// controllerCommand runs a controller.
func controllerCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "controller --dir DIR",
		Short: "Run the controller in a directory (started by its keeper)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := controller.StartLog(dir); err != nil {
				return err
			}
			return controller.Run(cmd.Context(), dir, controller.Options{})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the controller's directory")
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}

// must panics. It is for programming errors, which the first run shows.
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
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return controller.RemoveStore(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the controller's directory")
	must(cmd.MarkFlagRequired("dir"))
	return cmd
}
