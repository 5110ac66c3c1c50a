package services

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func GetCommand(s *cli.Session) *cobra.Command {
	g := &get{Session: s}
	cmd := &cobra.Command{
		Use:     "get SERVICE [KEY]",
		Aliases: []string{"get-config"},
		Short:   "Show the settings of a service",
		Long: `Show all settings of a service, with the source of each value: the user, the charm's
default, or unset. With KEY, print only the value of that setting; invisible characters
are escaped, unless --format is given.`,
		Example: `  juju get web
  juju get web title
  juju get web --format json`,
		Annotations: cli.SeeAlso("set", "unset", "config"),
		Args:        cli.AtMost(2),
		RunE:        func(cmd *cobra.Command, args []string) error { return g.run(cmd.Context(), args) },
	}
	g.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

type get struct {
	*cli.Session
	output cli.Output
}

func (g *get) run(ctx context.Context, args []string) error {
	if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
		return err
	}
	if err := cli.CheckFormat(g.output.Format); err != nil {
		return err
	}
	return cli.WithModel(ctx, g.Session, func(api getAPI) error { return g.show(ctx, api, args[0], args[1:]) })
}

// show prints all options, or the values of some.
func (g *get) show(ctx context.Context, api getAPI, service string, keys []string) error {
	config, err := api.ServiceConfig(ctx, service)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		text, err := cli.Encode(g.output.Format, shownConfig(config))
		if err != nil {
			return err
		}
		return g.Write(g.output, text)
	}
	for _, key := range keys {
		option, ok := config.Settings[key]
		if own, is := config.Own[key]; is {
			option, ok = own, true
		}
		if !ok {
			//lint:ignore ST1005 Juju's words
			return entity.WithHint(fmt.Errorf("key %q not found in %q settings.", key, service),
				"To list the options: juju get %s", service)
		}
		text := []byte("\n")
		if g.output.IsChosen() {
			if text, err = cli.Encode(g.output.Format, option.Value); err != nil {
				return err
			}
		} else if option.Value != nil {
			text = fmt.Appendln(nil, option.Value)
		}
		if err := g.Write(g.output, text); err != nil {
			return err
		}
	}
	return nil
}

// The YAML and JSON forms of settings.
type (
	serviceConfig struct {
		Application string                  `yaml:"application" json:"application"`
		Own         map[string]serviceValue `yaml:"application-config,omitempty" json:"application-config,omitempty"`
		Charm       string                  `yaml:"charm" json:"charm"`
		Settings    map[string]serviceValue `yaml:"settings" json:"settings"`
	}
	serviceValue struct {
		Default     any    `yaml:"default,omitempty" json:"default,omitempty"`
		Description string `yaml:"description,omitempty" json:"description,omitempty"`
		Source      string `yaml:"source" json:"source"`
		Type        string `yaml:"type" json:"type"`
		Value       any    `yaml:"value,omitempty" json:"value,omitempty"`
	}
)

func shownConfig(config client.ServiceConfig) serviceConfig {
	return serviceConfig{config.Service, shownSettings(config.Own), config.Charm, shownSettings(config.Settings)}
}

func shownSettings(settings map[string]entity.ConfigSetting) map[string]serviceValue {
	shown := map[string]serviceValue{}
	for key, o := range settings {
		shown[key] = serviceValue{o.Default, o.Description, o.Source, o.Type, o.Value}
	}
	return shown
}

type getAPI interface {
	ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error)
}
