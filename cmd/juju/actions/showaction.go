package actions

import (
	"fmt"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/display"
	"juju/state/entity"
)

func ShowActionCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "show-action SERVICE ACTION",
		Short:       "Show an action and its parameters",
		Long:        `Show an action's description and parameters, as the service's charm defines them.`,
		Example:     `  juju show-action store backup`,
		Annotations: cli.SeeAlso("actions", "run-action"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
				return err
			}
			if len(args) == 1 {
				return cli.Usagef("no action name specified")
			}
			return cli.WithModel(cmd.Context(), s, func(api tasksAPI) error {
				all, err := api.ServiceActions(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				info, ok := all[args[1]]
				if !ok {
					return entity.WithHint(entity.Errorf(entity.NotFound, "unknown action %q", args[1]),
						"To list the actions: juju actions %s", args[0])
				}
				return showAction(s, info)
			})
		},
	}
	s.ModelFlag(cmd)
	return cmd
}

func showAction(s *cli.Session, info client.ActionInfo) error {
	if info.Description != "" {
		fmt.Fprintf(s.Stdout, "%s\n\n", display.Message(info.Description, "  "))
	}
	params, _ := info.Schema["properties"].(map[string]any)
	if len(params) == 0 {
		fmt.Fprintln(s.Stdout, "This action takes no parameters.")
		return nil
	}
	text, err := cli.Encode("yaml", params)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "Arguments\n%s", text)
	return nil
}
