package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A modelsAPI lists models.
type modelsAPI interface {
	Models(ctx context.Context) ([]client.Model, error)
}

// A describeModelsAPI lists and describes models.
type describeModelsAPI interface {
	modelsAPI
	ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error)
	ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error)
}

// controllerFlag adds the flag -c to a command.
func (s *session) controllerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.controller, "controller", "c", "", "the controller to work with")
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

// withController calls do with a connection to the target controller. API names the methods that do calls;
// *client.Conn has them.
func withController[API any](ctx context.Context, s *session, do func(target, API) error) error {
	_, t, err := s.readTarget()
	if err != nil {
		return err
	}
	conn, err := s.connectController(ctx, t)
	if err != nil {
		return err
	}
	err = do(t, conn.(API))
	return errors.Join(err, conn.Close())
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

// showStatus returns the form in which a model's status is shown.
func showStatus(s entity.Status) modelWord {
	return modelWord{Current: string(cmp.Or(s.Status, entity.StatusUnknown)), Message: s.Message}
}
