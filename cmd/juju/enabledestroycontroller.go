package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/state/entity"
)

// blockedModelsAPI is what commands call about the blocks of all models of a controller.
type blockedModelsAPI interface {
	BlockedModels(ctx context.Context) ([]entity.ModelBlocks, error)
	RemoveBlocks(ctx context.Context) error
}

func enableDestroyControllerCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "enable-destroy-controller",
		Aliases: []string{"remove-all-blocks"},
		Short:   "Enable all disabled commands, in all models",
		Long: `Enable all commands that are disabled, in all models of a controller. Otherwise they
keep the controller from being destroyed.`,
		Example:     `  juju enable-destroy-controller`,
		Annotations: seeAlso("disabled-commands", "enable-command", "destroy-environment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unrecognized args: %q", args)
			}
			return withController(cmd.Context(), s,
				func(_ target, api blockedModelsAPI) error { return api.RemoveBlocks(cmd.Context()) })
		},
	}
	s.controllerFlag(cmd)
	return cmd
}
