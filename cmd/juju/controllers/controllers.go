package controllers

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func ControllersCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "controllers",
		Aliases: []string{"list-controllers"},
		Short:   "List the controllers that this client knows",
		Long: `List the controllers that this client has created or registered with, with the selected
model and your user on each. An asterisk marks the selected controller. None is asked:
juju show-controller asks one.`,
		Example:     `  juju controllers`,
		Annotations: cli.SeeAlso("show-controller", "switch", "models"),
		Args:        cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			return listControllers(s, output)
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	return cmd
}

// The YAML and JSON forms of the list.
type (
	listedControllers struct {
		Controllers map[string]listedController `yaml:"controllers" json:"controllers"`
		Current     string                      `yaml:"current-controller" json:"current-controller"`
	}
	listedController struct {
		Model     string   `yaml:"current-model,omitempty" json:"current-model,omitempty"`
		User      string   `yaml:"user,omitempty" json:"user,omitempty"`
		UUID      string   `yaml:"uuid" json:"uuid"`
		Addresses []string `yaml:"api-endpoints" json:"api-endpoints"`
		CACert    string   `yaml:"ca-cert" json:"ca-cert"`
		Cloud     string   `yaml:"cloud,omitempty" json:"cloud,omitempty"`
		Models    int      `yaml:"model-count" json:"model-count"`
	}
)

func listControllers(s *cli.Session, output cli.Output) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	known, err := st.Read()
	if err != nil {
		return err
	}
	shown := listedControllers{map[string]listedController{}, known.Current}
	rows := [][]string{{"Controller", "Model", "User", "Cloud", "Models"}}
	for _, name := range known.Names() {
		c := known.Controllers[name]
		model := c.Unqualify(c.Model)
		shown.Controllers[name] = listedController{model, c.User, c.UUID, c.Addresses, c.CACert, c.ShownCloud(), len(c.Models)}
		if name == known.Current {
			name += "*"
		}
		rows = append(rows, []string{name, cmp.Or(model, "-"), cmp.Or(c.User, "-"), cmp.Or(c.ShownCloud(), "-"), strconv.Itoa(len(c.Models))})
	}
	if len(rows) == 1 && output.Format == "tabular" {
		s.Note("No controllers registered. To create one: juju bootstrap")
		return nil
	}
	return s.WriteList(output, shown, rows)
}
