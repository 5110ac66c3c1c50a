package main

import (
	"github.com/spf13/cobra"
)

func enableCommandCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "enable-command SET",
		Aliases: []string{"unblock"},
		Short:   "Allow again what disable-command has disabled",
		Long: `Enable a set of commands that was disabled. What another set that is still disabled
has in common with it stays disabled.

` + setsHelp,
		Example: `  juju enable-command remove-object
  juju enable-command all -m prod`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := commandSet(args)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				return usagef("unrecognized args: %q", args[1:])
			}
			ctx := cmd.Context()
			return s.withModel(ctx, func(api modelAPI) error { return api.SwitchBlockOff(ctx, t) })
		},
	}
	s.modelFlag(cmd)
	return cmd
}
