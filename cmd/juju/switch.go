package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/store"
	"juju/state/entity"
)

func switchCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "switch [MODEL|CONTROLLER|CONTROLLER:MODEL]",
		Aliases: []string{"env"},
		Short:   "Select a model or a controller",
		Long: `Select the model, or the controller, that commands work with when they name none.
Without an argument, print what is selected. A name that is both a model of the selected
controller and a controller means the model. With a colon, as in prod:, it means the
controller, and selects the model that was last selected there.`,
		Example: `  juju switch
  juju switch staging
  juju switch prod:
  juju switch prod:staging`,
		Annotations: seeAlso("models", "whoami"),
		RunE:        func(cmd *cobra.Command, args []string) error { return s.switchTo(cmd.Context(), args) },
	}
}

func (s *session) switchTo(ctx context.Context, args []string) error {
	if len(args) > 1 {
		return usagef("unrecognized args: %q", args[1:])
	}
	st, err := s.store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		current := selected(contents)
		if current == "" {
			return entity.WithHint(errors.New("no currently specified model"),
				"Select one: juju switch MODEL, or juju switch CONTROLLER:")
		}
		_, err := fmt.Fprintln(s.stdout, current)
		return err
	}
	before := selected(contents)
	t, err := s.meant(ctx, contents, args[0])
	if err != nil {
		return err
	}
	err = st.Update(ctx, func(c *store.Contents) error {
		ctrl, ok := c.Controllers[t.name]
		if !ok {
			return entity.Errorf(entity.NotFound, "controller %q not found", t.name)
		}
		c.Current, ctrl.Model = t.name, t.model
		contents = c
		return nil
	})
	if err != nil {
		return err
	}
	after := selected(contents)
	if before == after {
		s.note("%s (no change)", after)
		return nil
	}
	if before == "" {
		before = "(nothing)"
	}
	s.note("%s -> %s", before, after)
	return nil
}

// selected returns what is selected as CONTROLLER:OWNER/MODEL, "" for nothing.
func selected(c *store.Contents) string {
	ctrl, ok := c.Controllers[c.Current]
	switch {
	case !ok:
		return ""
	case ctrl.Model == "":
		return c.Current + ":"
	}
	return c.Current + ":" + ctrl.Model
}

// meant returns what the argument of switch names: a known model of the selected controller,
// else a controller, else a model that the controller must be asked about.
func (s *session) meant(ctx context.Context, c *store.Contents, arg string) (target, error) {
	controller, model, named := strings.Cut(arg, ":")
	if named && model == "" {
		name, ctrl, err := c.Controller(controller)
		if err != nil {
			return target{}, err
		}
		return target{name, ctrl, ctrl.Model}, nil
	}
	if !named {
		controller, model = c.Current, arg
		isModel := false
		if ctrl, ok := c.Controllers[c.Current]; ok {
			_, isModel = ctrl.Models[ctrl.Qualify(model)]
		}
		if other, ok := c.Controllers[arg]; ok && !isModel {
			return target{arg, other, other.Model}, nil
		}
	}
	name, ctrl, err := c.Controller(controller)
	if err != nil {
		return target{}, err
	}
	t := target{name, ctrl, ctrl.Qualify(model)}
	if _, known := ctrl.Models[t.model]; known {
		return t, nil
	}
	api, err := s.connectController(ctx, t)
	if err != nil {
		return t, err
	}
	_, err = s.findModel(ctx, t, api.(modelsAPI), model)
	return t, errors.Join(err, api.Close())
}
