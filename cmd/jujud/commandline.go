package main

import (
	"os"

	"github.com/spf13/cobra"

	"juju/cmd/juju/embedded"
)

// commandLineName is the name of the command that a controller runs in a process for each command line of a user.
const commandLineName = "command-line"

// ownProgram is this program, also if its file has been replaced or removed since it started.
const ownProgram = "/proc/self/exe"

// commandLineCommand runs a command of juju's for a user of the controller. It reads the request, which has a password, from
// standard input.
func commandLineCommand() *cobra.Command {
	return &cobra.Command{
		Use:    commandLineName,
		Short:  "Run a command of juju for a user (started by the controller)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			code, err := embedded.Run(cmd.Context(), cmd.InOrStdin())
			if err == nil && code != 0 {
				os.Exit(code) // it has said why
			}
			return err
		},
	}
}
