package blocks

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type blockedModelsAPI interface {
	BlockedModels(ctx context.Context) ([]entity.ModelBlocks, error)
	RemoveBlocks(ctx context.Context) error
}

func EnableDestroyControllerCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "enable-destroy-controller",
		Aliases: []string{"remove-all-blocks"},
		Short:   "Enable all disabled commands, in all models",
		Long: `Enable all disabled commands in all models of a controller. A controller cannot be
destroyed while a model has disabled commands.`,
		Example:     `  juju enable-destroy-controller`,
		Annotations: cli.SeeAlso("disabled-commands", "enable-command", "destroy-environment"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.WithController(cmd.Context(), s,
				func(_ cli.Target, api blockedModelsAPI) error { return api.RemoveBlocks(cmd.Context()) })
		},
	}
	s.ControllerFlag(cmd)
	return cmd
}
