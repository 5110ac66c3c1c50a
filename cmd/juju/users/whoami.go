package users

import (
	"errors"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func WhoamiCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:         "whoami",
		Short:       "Show the selected controller and model, and your user",
		Long:        "Show the selected controller and model, and the user that you are logged in as.",
		Example:     `  juju whoami`,
		Annotations: cli.SeeAlso("switch", "login", "models"),
		Args:        cli.AtMost(0),
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			return whoami(s, output)
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}

// shownAccount is the YAML and JSON form.
type shownAccount struct {
	Controller string `yaml:"controller" json:"controller"`
	Model      string `yaml:"model,omitempty" json:"model,omitempty"`
	User       string `yaml:"user" json:"user"`
}

func whoami(s *cli.Session, o cli.Output) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	t, err := s.ControllerTarget(contents)
	if errors.Is(err, entity.NotFound) && contents.Current == "" && s.Controller == "" {
		return cli.WithHint(errors.New("there is no current controller"),
			"To create one: juju bootstrap; to register with one: juju register")
	}
	if err != nil {
		return err
	}
	if t.Controller.User == "" {
		return cli.NotLoggedIn(t)
	}
	shown := shownAccount{t.Name, t.Controller.Unqualify(t.Controller.Model), t.Controller.User}
	model := shown.Model
	if model == "" {
		model = "<no-current-model>"
	}
	if o.Format == "tabular" {
		return s.Write(o, cli.Table([][]string{{"Controller:", shown.Controller}, {"Model:", model}, {"User:", shown.User}}))
	}
	return s.WriteList(o, shown, nil)
}
