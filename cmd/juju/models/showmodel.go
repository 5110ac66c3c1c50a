package models

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ShowModelCommand(s *cli.Session) *cobra.Command {
	m := &showModel{Session: s}
	cmd := &cobra.Command{
		Use:   "show-model [MODEL]",
		Short: "Show a model",
		Long: `Show a model's owner, users, life, status and machines. Without MODEL, show the selected
model.`,
		Example: `  juju show-model
  juju show-model staging
  juju show-model prod:staging --format json`,
		Annotations: cli.SeeAlso("models", "model-config", "status"),
		Args:        cli.AtMost(1),
		RunE:        func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	m.output.Flags(cmd, "yaml", "yaml", "json")
	s.ControllerFlag(cmd)
	s.ModelFlag(cmd)
	return cmd
}

type showModel struct {
	*cli.Session
	output cli.Output
}

// The YAML and JSON forms of a model's users and machines.
type (
	modelUser struct {
		DisplayName string `yaml:"display-name,omitempty" json:"display-name,omitempty"`
		Access      string `yaml:"access" json:"access"`
		Last        string `yaml:"last-connection" json:"last-connection"`
	}
	modelMachine struct {
		InstanceID string `yaml:"instance-id,omitempty" json:"instance-id,omitempty"`
		Status     string `yaml:"status,omitempty" json:"status,omitempty"`
		Cores      uint64 `yaml:"cores" json:"cores"`
	}
)

func (m *showModel) run(ctx context.Context, args []string) error {
	if err := cli.CheckFormat(m.output.Format); err != nil {
		return err
	}
	name, err := m.SplitModel(append(args, m.Session.Model)[0])
	if err != nil {
		return err
	}
	if env := m.Getenv("JUJU_MODEL"); name == "" && env != "" {
		name = env[strings.Index(env, ":")+1:]
	}
	return cli.WithController(ctx, m.Session, func(t cli.Target, api describeModelsAPI) error {
		if name == "" {
			if name, err = m.SelectedModel(t); err != nil {
				return err
			}
		}
		model, err := m.FindModel(ctx, t, api, name)
		if err != nil {
			return err
		}
		info, err := api.ModelInfo(ctx, model.UUID)
		if err != nil {
			return err
		}
		text, err := cli.Encode(m.output.Format,
			map[string]shownModel{t.Controller.Unqualify(model.Owner + "/" + model.Name): showInfo(t, info)})
		if err != nil {
			return err
		}
		return m.Write(m.output, text)
	})
}

func showInfo(t cli.Target, info entity.ModelInfo) shownModel {
	d := showDescription(t, info.ModelDescription)
	d.Credential = credentialOf(d, info.Credential)
	d.Users, d.Machines = map[string]modelUser{}, map[string]modelMachine{}
	for _, u := range info.Users {
		d.Users[u.UserName] = modelUser{u.DisplayName, u.Access, lastConnection(u.LastConnection)}
	}
	for _, machine := range info.Machines {
		d.Machines[machine.ID] = modelMachine{machine.InstanceID, machine.Status, machine.Hardware.Cores}
	}
	return d
}
