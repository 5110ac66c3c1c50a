package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
	"juju/state/modelconfig"
)

type controllerConfigAPI interface {
	ControllerConfig(ctx context.Context) (map[string]any, error)
	SetControllerConfig(ctx context.Context, config map[string]any) error
}

func ControllerConfigCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "controller-config [KEY]",
		Aliases: []string{"get-controller-config"},
		Short:   "Show the settings of a controller",
		Long: `Show the settings of a controller, or the value of one. They are set at bootstrap and
can't be changed. For the settings of models, see juju model-config and juju
model-defaults.`,
		Example: `  juju controller-config
  juju controller-config api-port`,
		Annotations: cli.SeeAlso("show-controller", "model-config", "model-defaults"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx, values := cmd.Context(), map[string]any{}
			for _, arg := range args {
				if key, value, ok := strings.Cut(arg, "="); ok {
					values[key] = value
				} else if len(args) > 1 {
					return cli.Usagef("expected one key, or key=value, got %q", args)
				}
			}
			return cli.WithController(ctx, s, func(_ cli.Target, api controllerConfigAPI) error {
				for key := range values {
					if modelconfig.IsOfController(key) {
						s.Warn(modelconfig.ControllerWord(key))
					}
				}
				if len(values) > 0 {
					return api.SetControllerConfig(ctx, values)
				}
				config, err := api.ControllerConfig(ctx)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					value, ok := config[args[0]]
					if !ok {
						return entity.WithHint(fmt.Errorf("key %q not found in controller config", args[0]),
							"To list the settings: juju controller-config")
					}
					if output.Format == "tabular" {
						return s.Write(output, []byte(fmt.Sprintln(value)))
					}
					config = map[string]any{args[0]: value}
				}
				rows := [][]string{{"Attribute", "Value"}}
				for _, key := range slices.Sorted(maps.Keys(config)) {
					text, _, more := strings.Cut(strings.TrimSpace(fmt.Sprint(config[key])), "\n")
					if more {
						text += " …"
					}
					rows = append(rows, []string{key, display.Line(text)})
				}
				return s.WriteList(output, config, rows)
			})
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}
