package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// seeAlso returns the annotation of a command that names related commands.
func seeAlso(names ...string) map[string]string {
	return map[string]string{seeAlsoKey: strings.Join(names, ", ")}
}

const seeAlsoKey = "see also"

// withHelp adds a hint to a usage error that points to the command's help, unless it has a
// hint.
func withHelp(cmd *cobra.Command, err error) error {
	if err == nil || !isUsage(err) {
		return err
	}
	return withHint(err, fmt.Sprintf("For usage: %s help %s", cmd.Root().Name(), cmd.Name()))
}
