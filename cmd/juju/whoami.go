package main

import (
	"errors"

	"github.com/spf13/cobra"

	"juju/state/entity"
)

func whoamiCommand(s *session) *cobra.Command {
	var output output
	cmd := &cobra.Command{
		Use:         "whoami",
		Short:       "Show the selected controller and model, and your user",
		Long:        "Show the selected controller and model, and the user that you are logged in as.",
		Example:     `  juju whoami`,
		Annotations: seeAlso("switch", "login", "models"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unrecognized args: %q", args)
			}
			if err := checkListFormat(output.format); err != nil {
				return err
			}
			return whoami(s, output)
		},
	}
	output.flags(cmd, "tabular", listFormats...)
	s.controllerFlag(cmd)
	return cmd
}

// shownAccount is the YAML and JSON form.
type shownAccount struct {
	Controller string `yaml:"controller" json:"controller"`
	Model      string `yaml:"model,omitempty" json:"model,omitempty"`
	User       string `yaml:"user" json:"user"`
}

func whoami(s *session, o output) error {
	st, err := s.store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	t, err := s.controllerTarget(contents)
	if errors.Is(err, entity.NotFound) && contents.Current == "" && s.controller == "" {
		return withHint(errors.New("there is no current controller"),
			"Create one: juju bootstrap; or register with one: juju register")
	}
	if err != nil {
		return err
	}
	if t.ctrl.User == "" {
		return notLoggedIn(t)
	}
	shown := shownAccount{t.name, t.ctrl.Unqualify(t.ctrl.Model), t.ctrl.User}
	model := shown.Model
	if model == "" {
		model = "<no-current-model>"
	}
	return s.writeList(o, shown, [][]string{{"Controller:", shown.Controller}, {"Model:", model}, {"User:", shown.User}})
}
