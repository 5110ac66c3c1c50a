package actions

import (
	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ShowActionCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
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
			if err := cli.CheckFormat(output.Format, "text"); err != nil {
				return err
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
				return showAction(s, output, info)
			})
		},
	}
	output.Flags(cmd, "text", "text", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

// A shownAction is the YAML and JSON form of an action.
type shownAction struct {
	Description string         `yaml:"description,omitempty" json:"description,omitempty"`
	Params      map[string]any `yaml:"parameters" json:"parameters"` // JSON schemas by name
	Required    any            `yaml:"required,omitempty" json:"required,omitempty"`
}

func showAction(s *cli.Session, output cli.Output, info client.ActionInfo) error {
	params, _ := info.Schema["properties"].(map[string]any)
	if output.Format != "text" {
		if params == nil {
			params = map[string]any{}
		}
		text, err := cli.Encode(output.Format, shownAction{info.Description, params, info.Schema["required"]})
		if err != nil {
			return err
		}
		return s.Write(output, text)
	}
	text := []byte("This action takes no parameters.\n")
	if len(params) > 0 {
		list, err := cli.Encode("yaml", params)
		if err != nil {
			return err
		}
		text = append([]byte("Arguments\n"), list...)
	}
	if info.Description != "" {
		text = append([]byte(display.Message(info.Description, "  ")+"\n\n"), text...)
	}
	return s.Write(output, text)
}
