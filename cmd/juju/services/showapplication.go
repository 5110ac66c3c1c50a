package services

import (
	"context"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/constraints"
	"juju/state/entity"
)

// ShowApplicationCommand is show-application of Juju, with its keys.
func ShowApplicationCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "show-application SERVICE...",
		Aliases: []string{"show-service"},
		Short:   "Show services",
		Long: `Show services: the charm, base and constraints of each, whether it is exposed, and the
space of each endpoint. For units and statuses, use juju status; for settings, juju
config.`,
		Example: `  juju show-application web
  juju show-application web store --format json`,
		Annotations: cli.SeeAlso("status", "config", "show-unit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args); err != nil {
				return err
			}
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api showApplicationAPI) error {
				shown, err := describeServices(ctx, api, args)
				if err != nil {
					return err
				}
				text, err := cli.Encode(output.Format, shown)
				if err != nil {
					return err
				}
				return s.Write(output, text)
			})
		},
	}
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

type showApplicationAPI interface {
	wait.StatusAPI
	ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error)
	ServiceConstraints(ctx context.Context, service string) (constraints.Value, error)
}

// A shownApplication is the YAML and JSON form of a service.
type shownApplication struct {
	Charm       string            `yaml:"charm" json:"charm"`
	Base        string            `yaml:"base" json:"base"`
	Channel     string            `yaml:"channel,omitempty" json:"channel,omitempty"` // of a charm from a store
	Constraints constraints.Value `yaml:"constraints,omitempty" json:"constraints"`
	Principal   bool              `yaml:"principal" json:"principal"`
	Exposed     bool              `yaml:"exposed" json:"exposed"`

	Endpoints entity.ExposedEndpoints `yaml:"exposed-endpoints,omitempty" json:"exposed-endpoints,omitempty"`
	Remote    bool                    `yaml:"remote" json:"remote"`
	Life      string                  `yaml:"life" json:"life"`
	Bindings  map[string]string       `yaml:"endpoint-bindings,omitempty" json:"endpoint-bindings,omitempty"`
}

func describeServices(ctx context.Context, api showApplicationAPI,
	names []string) (map[string]shownApplication, error) {
	status, err := api.Status(ctx, names...)
	if err != nil {
		return nil, err
	}
	there := map[string]entity.ServiceStatus{}
	for _, s := range status.Services {
		there[s.Name] = s
	}
	shown := map[string]shownApplication{}
	for _, name := range names {
		s, ok := there[name]
		if !ok {
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "service %q not found", name),
				"To list services: juju status")
		}
		one := shownApplication{Charm: s.CharmURL, Base: entity.BaseOf(s.Series).Short(),
			Principal: !s.Subordinate, Channel: s.Channel,
			Exposed: s.Exposed, Endpoints: s.Endpoints, Life: s.Life.String()}
		if u, err := charm.ParseURL(s.CharmURL); err == nil && u.Schema == "ch" {
			one.Charm = u.Name
		}
		if !s.Subordinate {
			if one.Constraints, err = api.ServiceConstraints(ctx, name); err != nil {
				return nil, err
			}
		}
		config, err := api.ServiceConfig(ctx, name)
		if err != nil {
			return nil, err
		}
		one.Bindings = config.Bindings
		shown[name] = one
	}
	return shown, nil
}
