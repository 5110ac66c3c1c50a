package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/display"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A target is the controller, and the model if any, that a command works with.
type target struct {
	name  string // of the controller
	ctrl  *store.Controller
	model string // qualified name, "" for the controller itself
}

// target returns the controller and model to work with: given by -m, else by JUJU_MODEL, else
// the model selected on the controller of JUJU_CONTROLLER, else the model selected on the
// selected controller.
func (s *session) target(c *store.Contents) (target, error) {
	spec := s.model
	if spec == "" {
		spec = s.getenv("JUJU_MODEL")
	}
	name, model, named := strings.Cut(spec, ":")
	if !named {
		name, model = s.getenv("JUJU_CONTROLLER"), spec
	}
	name, ctrl, err := c.Controller(name)
	if err != nil {
		return target{}, err
	}
	t := target{name, ctrl, ctrl.Qualify(model)}
	if ctrl.User == "" {
		return t, notLoggedIn(t)
	}
	if t.model == "" {
		t.model, err = s.selectedModel(t)
	}
	return t, err
}

// selectedModel returns the qualified name of the model selected on a controller.
func (s *session) selectedModel(t target) (string, error) {
	if t.ctrl.User == "" {
		return "", notLoggedIn(t)
	}
	if t.ctrl.Model == "" {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "no model is selected on controller %q", t.name),
			"Select one: juju switch MODEL; or choose one with -m MODEL or JUJU_MODEL")
	}
	return t.ctrl.Model, nil
}

func noModel(t target) error {
	var known []string
	for _, model := range slices.Sorted(maps.Keys(t.ctrl.Models)) {
		known = append(known, display.Line(t.ctrl.Unqualify(model)))
	}
	err := entity.Errorf(entity.NotFound, "model %q not found", t.name+":"+t.ctrl.Unqualify(t.model))
	if len(known) == 0 {
		return entity.WithHint(err,
			"You have access to no model. Create one: juju add-model NAME; or ask an administrator for access to one.")
	}
	return entity.WithHint(err, "Available models: %s", strings.Join(known, ", "))
}

// notLoggedIn is the error for a known controller that the user has logged out of.
func notLoggedIn(t target) error {
	return entity.WithHint(entity.Errorf(entity.Unauthorized, "you are logged out of controller %q", t.name),
		"Log in: juju login -c %s -u USER", t.name)
}

// controllerTarget returns the controller to work with: given by -c, else by JUJU_CONTROLLER
// or JUJU_MODEL, else the selected one.
func (s *session) controllerTarget(c *store.Contents) (target, error) {
	name := s.controller
	if name == "" {
		name = s.getenv("JUJU_CONTROLLER")
	}
	if of, _, named := strings.Cut(s.getenv("JUJU_MODEL"), ":"); named && name == "" {
		name = of
	}
	name, ctrl, err := c.Controller(name)
	return target{name: name, ctrl: ctrl}, err
}

// readTarget returns the store and the controller to work with.
func (s *session) readTarget() (*store.Store, target, error) {
	st, err := s.store()
	if err != nil {
		return nil, target{}, err
	}
	contents, err := st.Read()
	if err != nil {
		return nil, target{}, err
	}
	t, err := s.controllerTarget(contents)
	return st, t, err
}

// readModelTarget is readTarget for the selected model.
func (s *session) readModelTarget() (*store.Store, target, error) {
	st, err := s.store()
	if err != nil {
		return nil, target{}, err
	}
	contents, err := st.Read()
	if err != nil {
		return nil, target{}, err
	}
	t, err := s.target(contents)
	return st, t, err
}

// splitModel splits CONTROLLER:MODEL, where CONTROLLER: is optional.
func (s *session) splitModel(arg string) (model string, err error) {
	name, model, named := strings.Cut(arg, ":")
	if !named {
		return arg, nil
	}
	if s.controller != "" && s.controller != name {
		return "", usagef("--controller %s does not match %q", s.controller, arg)
	}
	s.controller = name
	return model, nil
}

// noteModels stores the list of a controller's models, and unselects a model that is gone. It
// also applies change, if not nil.
func (s *session) noteModels(ctx context.Context, t target, models []client.Model,
	change func(*store.Controller)) error {
	st, err := s.store()
	if err != nil {
		return err
	}
	t.ctrl.Models = map[string]string{}
	for _, m := range models {
		t.ctrl.Models[m.Owner+"/"+m.Name] = m.UUID
	}
	return st.Update(ctx, func(c *store.Contents) error {
		ctrl, ok := c.Controllers[t.name]
		if !ok {
			return nil // it was destroyed meanwhile
		}
		ctrl.Models = t.ctrl.Models
		if change != nil {
			change(ctrl)
		}
		if _, ok := ctrl.Models[ctrl.Model]; !ok {
			ctrl.Model = ""
		}
		return nil
	})
}

// findModel asks the controller for the model with this name, and stores the list of models.
// The error is NotFound if there is none.
func (s *session) findModel(ctx context.Context, t target, api modelsAPI, name string) (client.Model, error) {
	models, err := api.Models(ctx)
	if err != nil {
		return client.Model{}, err
	}
	if err := s.noteModels(ctx, t, models, nil); err != nil {
		return client.Model{}, err
	}
	qualified := t.ctrl.Qualify(name)
	for _, m := range models {
		if m.Owner+"/"+m.Name == qualified {
			return m, nil
		}
	}
	t.model = qualified
	return client.Model{}, noModel(t)
}

// modelFlag adds the flag -m to a command.
func (s *session) modelFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.model, "model", "m", "", "the model to work in, as MODEL or CONTROLLER:MODEL")
	cmd.Flags().StringVarP(&s.model, "environment", "e", "", "older name of --model")
	cmd.Flags().Lookup("environment").Hidden = true
}

// controllerFlag adds the flag -c to a command.
func (s *session) controllerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.controller, "controller", "c", "", "the controller to work with")
}

// oneModel checks that the only argument is the name of a model.
func oneModel(args []string) error {
	if len(args) == 0 {
		return usagef("no model specified")
	}
	if len(args) > 1 {
		return usagef("unrecognized args: %q", args[1:])
	}
	return nil
}
