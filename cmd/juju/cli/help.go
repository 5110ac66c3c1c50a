package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// SeeAlso returns the annotation that lists related commands.
func SeeAlso(names ...string) map[string]string {
	return map[string]string{seeAlsoKey: strings.Join(names, ", ")}
}

const seeAlsoKey = "see also"

// WithHelp adds a hint that points to the command's help to a usage error, unless it has a hint.
func WithHelp(cmd *cobra.Command, err error) error {
	if err == nil || !IsUsage(err) {
		return err
	}
	return WithHint(err, fmt.Sprintf("For usage: %s help %s", cmd.Root().Name(), cmd.Name()))
}
