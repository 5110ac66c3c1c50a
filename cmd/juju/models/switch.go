package models

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func SwitchCommand(s *cli.Session) *cobra.Command {
	controller, model := "", ""
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "switch [MODEL|CONTROLLER|CONTROLLER:MODEL|-]",
		Aliases: []string{"env", "use-model", "use-environment", "use-env"},
		Short:   "Select a model or a controller",
		Long: `Select the default model or controller for commands. Without an argument, print the
selected model. A name that is both a model on the selected controller and a controller
selects the model. With a colon, as in prod:, it selects the controller, and the model
that was last selected there. A dash selects what was selected before the last switch.
--controller and --model say which of the two a name is.`,
		Example: `  juju switch
  juju switch staging
  juju switch prod:
  juju switch prod:staging
  juju switch -`,
		Annotations: cli.SeeAlso("models", "whoami"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(output.Format, "text"); err != nil {
				return err
			}
			switch {
			case controller+model != "" && len(args) > 0:
				return cli.Usagef("unrecognized args: %q: --controller and --model say what to select", args)
			case controller != "" && strings.Contains(model, ":"):
				return cli.Usagef("--model %s and --controller %s both name a controller", model, controller)
			case strings.Contains(model, ":"):
				args = []string{model}
			case controller+model != "":
				args = []string{controller + ":" + model}
			}
			return switchTo(cmd.Context(), s, output, args)
		},
	}
	cmd.Flags().StringVarP(&controller, "controller", "c", "", "select this controller, or its model --model")
	cmd.Flags().StringVarP(&model, "model", "m", "", "select this model")
	output.Flags(cmd, "text", "text", "yaml", "json")
	return cmd
}

// A selection is the YAML and JSON form of what is selected.
type selection struct {
	Controller string `yaml:"controller" json:"controller"`
	Model      string `yaml:"model,omitempty" json:"model,omitempty"` // with its owner
	Previous   string `yaml:"previous,omitempty" json:"previous,omitempty"`
}

// tellSelected prints what is selected.
func tellSelected(s *cli.Session, output cli.Output, c *store.Contents) error {
	text := []byte(c.Selected() + "\n")
	if output.Format != "text" {
		controller, model, _ := strings.Cut(c.Selected(), ":")
		var err error
		if text, err = cli.Encode(output.Format, selection{controller, model, c.Previous}); err != nil {
			return err
		}
	}
	return s.Write(output, text)
}

func switchTo(ctx context.Context, s *cli.Session, output cli.Output, args []string) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		current := contents.Selected()
		if current == "" {
			return entity.WithHint(errors.New("no currently specified model"),
				"To select one: juju switch MODEL, or juju switch CONTROLLER:")
		}
		return tellSelected(s, output, contents)
	}
	before := contents.Selected()
	if args[0] == "-" {
		if contents.Previous == "" {
			return entity.WithHint(errors.New("nothing was selected before"), "To select a model: juju switch MODEL")
		}
		args = []string{contents.Previous}
	}
	t, err := resolve(ctx, s, contents, args[0])
	if err != nil {
		return err
	}
	err = st.Update(ctx, func(c *store.Contents) error {
		ctrl, ok := c.Controllers[t.Name]
		if !ok {
			return entity.Errorf(entity.NotFound, "controller %q not found", t.Name)
		}
		c.Current, ctrl.Model = t.Name, t.Model
		contents = c
		return nil
	})
	if err != nil {
		return err
	}
	if output.Format != "text" {
		return tellSelected(s, output, contents)
	}
	after := contents.Selected()
	if before == after {
		s.Note("%s (no change)", after)
		return nil
	}
	if before == "" {
		before = "(nothing)"
	}
	s.Note("%s -> %s", before, after)
	return nil
}

// resolve returns the target of switch: a known model of the selected controller, else a controller, else a model that
// it looks up on the controller.
func resolve(ctx context.Context, s *cli.Session, c *store.Contents, arg string) (cli.Target, error) {
	controller, model, named := strings.Cut(arg, ":")
	if named && model == "" {
		name, ctrl, err := c.Controller(controller)
		if err != nil {
			return cli.Target{}, err
		}
		return cli.Target{name, ctrl, ctrl.Model}, nil
	}
	if !named {
		controller, model = c.Current, arg
		isModel := false
		if ctrl, ok := c.Controllers[c.Current]; ok {
			_, isModel = ctrl.Models[ctrl.Qualify(model)]
		}
		if other, ok := c.Controllers[arg]; ok && !isModel {
			return cli.Target{arg, other, other.Model}, nil
		}
	}
	name, ctrl, err := c.Controller(controller)
	if err != nil {
		return cli.Target{}, err
	}
	t := cli.Target{name, ctrl, ctrl.Qualify(model)}
	if _, known := ctrl.Models[t.Model]; known {
		return t, nil
	}
	api, err := s.ConnectController(ctx, t)
	if err != nil {
		return t, err
	}
	_, err = s.FindModel(ctx, t, api.(cli.ModelsAPI), model)
	return t, errors.Join(err, api.Close())
}
