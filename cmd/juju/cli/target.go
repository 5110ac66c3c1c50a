package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A Target is the controller, and possibly the model, that a command works on.
type Target struct {
	Name       string // of the controller
	Controller *store.Controller
	Model      string // qualified name, "" for the controller itself
}

// Target returns the target controller and model: from -m, else JUJU_MODEL, else the model selected on the controller in
// JUJU_CONTROLLER, else the model selected on the selected controller.
func (s *Session) Target(c *store.Contents) (Target, error) {
	spec := s.Model
	if spec == "" {
		spec = s.Getenv("JUJU_MODEL")
	}
	name, model, named := strings.Cut(spec, ":")
	if !named {
		name, model = s.Getenv("JUJU_CONTROLLER"), spec
	}
	name, ctrl, err := c.Controller(name)
	if err != nil {
		return Target{}, err
	}
	t := Target{name, ctrl, ctrl.Qualify(model)}
	if ctrl.User == "" {
		return t, NotLoggedIn(t)
	}
	if t.Model == "" {
		t.Model, err = s.SelectedModel(t)
	}
	return t, err
}

// SelectedModel returns the qualified name of the model selected on a controller.
func (s *Session) SelectedModel(t Target) (string, error) {
	if t.Controller.User == "" {
		return "", NotLoggedIn(t)
	}
	if t.Controller.Model == "" {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "no model is selected on controller %q", t.Name),
			"To select one: juju switch MODEL; or specify one with -m MODEL or JUJU_MODEL")
	}
	return t.Controller.Model, nil
}

func NoModel(t Target) error {
	var known []string
	for _, model := range slices.Sorted(maps.Keys(t.Controller.Models)) {
		known = append(known, display.Line(t.Controller.Unqualify(model)))
	}
	err := entity.Errorf(entity.NotFound, "model %q not found", t.Name+":"+t.Controller.Unqualify(t.Model))
	if len(known) == 0 {
		return entity.WithHint(err,
			"You have no access to any model. To create one: juju add-model NAME; or ask an administrator for access to one.")
	}
	return entity.WithHint(err, "Available models: %s", strings.Join(known, ", "))
}

// NotLoggedIn is the error for a known controller that the user has logged out of.
func NotLoggedIn(t Target) error {
	return entity.WithHint(entity.Errorf(entity.Unauthorized, "you are logged out of controller %q", t.Name),
		"To log in: juju login -c %s -u USER", t.Name)
}

// ControllerTarget returns the target controller: from -c, else JUJU_CONTROLLER or JUJU_MODEL, else the selected one.
func (s *Session) ControllerTarget(c *store.Contents) (Target, error) {
	name := s.Controller
	if name == "" {
		name = s.Getenv("JUJU_CONTROLLER")
	}
	if of, _, named := strings.Cut(s.Getenv("JUJU_MODEL"), ":"); named && name == "" {
		name = of
	}
	name, ctrl, err := c.Controller(name)
	return Target{Name: name, Controller: ctrl}, err
}

// ReadTarget returns the store and the target controller.
func (s *Session) ReadTarget() (*store.Store, Target, error) {
	return s.read(s.ControllerTarget)
}

// ReadModelTarget returns the store and the target controller and model.
func (s *Session) ReadModelTarget() (*store.Store, Target, error) {
	return s.read(s.Target)
}

// read returns the store and the target that its contents determine.
func (s *Session) read(target func(*store.Contents) (Target, error)) (*store.Store, Target, error) {
	st, err := s.Store()
	if err != nil {
		return nil, Target{}, err
	}
	contents, err := st.Read()
	if err != nil {
		return nil, Target{}, err
	}
	t, err := target(contents)
	return st, t, err
}

// SplitModel splits CONTROLLER:MODEL, where CONTROLLER: is optional.
func (s *Session) SplitModel(arg string) (model string, err error) {
	name, model, named := strings.Cut(arg, ":")
	if !named {
		return arg, nil
	}
	if s.Controller != "" && s.Controller != name {
		return "", Usagef("--controller %s does not match %q", s.Controller, arg)
	}
	s.Controller = name
	return model, nil
}

// NoteModels stores the list of a controller's models, deselects a model that no longer exists, and applies change, if
// not nil.
func (s *Session) NoteModels(ctx context.Context, t Target, models []client.Model,
	change func(*store.Controller)) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	t.Controller.Models = map[string]string{}
	for _, m := range models {
		t.Controller.Models[m.Owner+"/"+m.Name] = m.UUID
	}
	return st.Update(ctx, func(c *store.Contents) error {
		ctrl, ok := c.Controllers[t.Name]
		if !ok {
			return nil // it was destroyed meanwhile
		}
		ctrl.Models = t.Controller.Models
		if change != nil {
			change(ctrl)
		}
		if _, ok := ctrl.Models[ctrl.Model]; !ok {
			ctrl.Model = ""
		}
		return nil
	})
}

// FindModel gets the model with this name from the controller, and stores the list of models. If there is no such model,
// the error is NotFound.
func (s *Session) FindModel(ctx context.Context, t Target, api ModelsAPI, name string) (client.Model, error) {
	models, err := api.Models(ctx)
	if err != nil {
		return client.Model{}, err
	}
	if err := s.NoteModels(ctx, t, models, nil); err != nil {
		return client.Model{}, err
	}
	qualified := t.Controller.Qualify(name)
	for _, m := range models {
		if m.Owner+"/"+m.Name == qualified {
			return m, nil
		}
	}
	t.Model = qualified
	return client.Model{}, NoModel(t)
}

// ModelFlag adds the flag -m to a command.
func (s *Session) ModelFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Model, "model", "m", "", "the model to use, as MODEL or CONTROLLER:MODEL")
	cmd.Flags().StringVarP(&s.Model, "environment", "e", "", "older name of --model")
	cmd.Flags().Lookup("environment").Hidden = true
}

// ControllerFlag adds the flag -c to a command.
func (s *Session) ControllerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Controller, "controller", "c", "", "the controller to use")
}

// CheckModelName checks that the only argument is the name of a model.
func CheckModelName(args []string) error {
	if len(args) == 0 {
		return Usagef("no model specified")
	}
	if len(args) > 1 {
		return Usagef("unrecognized args: %q", args[1:])
	}
	return nil
}

// OfferURL parses the URL of an offer of the target's controller. Without a user, it is the target's own.
func (t Target) OfferURL(text string) (entity.OfferURL, error) {
	u, err := entity.ParseOfferURL(text, t.Name)
	if err != nil {
		return entity.OfferURL{}, Usage(err)
	}
	u.User = cmp.Or(u.User, t.Controller.User)
	return u, nil
}
