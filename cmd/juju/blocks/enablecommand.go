package blocks

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func EnableCommandCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "enable-command SET",
		Aliases: []string{"unblock"},
		Short:   "Enable disabled commands",
		Long: `Enable a set of commands that was disabled with disable-command. A command that is also
in another disabled set stays disabled.

` + setsHelp,
		Example: `  juju enable-command remove-object
  juju enable-command all -m prod`,
		Annotations: cli.SeeAlso("disable-command", "disabled-commands"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := commandSet(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api blockAPI) error { return api.SwitchBlockOff(ctx, t) })
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
