package commands

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/hooks/hooktools"
	"juju/state/entity"
)

// helpToolCommand shows the help of hook tools, which themselves work only inside a hook.
func helpToolCommand(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "help-tool [TOOL]",
		Aliases: []string{"hook-tool", "hook-tools"},
		Short:   "Show the help of a hook tool, or list all hook tools",
		Long: `Show what a hook tool does, its flags and examples; or list all hook tools. They work only
in charms' hooks.`,
		Example: `  juju help-tool
  juju help-tool relation-get`,
		Annotations: cli.SeeAlso("deploy", "debug-log"),
		Args:        cli.AtMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			table := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
			for _, help := range hooktools.Helps() {
				switch {
				case len(args) == 0:
					fmt.Fprintf(table, "%s\t%s\n", help.Name, help.Purpose)
				case args[0] == help.Name:
					fmt.Fprint(s.Stdout, help.Text)
					return nil
				}
			}
			if len(args) > 0 {
				return entity.WithHint(fmt.Errorf("unknown hook tool %q", args[0]), "To list hook tools: juju help-tool")
			}
			return table.Flush()
		},
	}
}
