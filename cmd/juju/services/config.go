package services

import (
	"context"
	"strings"

	"juju/cmd/juju/cli"

	"github.com/spf13/cobra"
)

func ConfigCommand(s *cli.Session) *cobra.Command {
	c := &config{Session: s}
	cmd := &cobra.Command{
		Use:   "config SERVICE [KEY | KEY=VALUE...]",
		Short: "Show or change the settings of a service",
		Long: `Show all settings of a service or one of them, like get; change settings, like set; or
reset them to their defaults, like unset. --file reads the same files as set --config,
including the output of this command.`,
		Example: `  juju config web
  juju config web title
  juju config web title="Good morning" --reset port
  juju config web --file web.yaml`,
		Annotations: cli.SeeAlso("get", "set", "unset", "model-config"),
		RunE:        func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&c.file, "file", "", "read settings from a YAML file, or standard input if it is -")
	cmd.Flags().StringSliceVar(&c.reset, "reset", nil, "`settings` to reset to their defaults, separated by commas")
	c.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type configAPI interface {
	setAPI
	getAPI
}

type config struct {
	*cli.Session
	file   string
	reset  []string
	output cli.Output
}

func (c *config) run(ctx context.Context, args []string) error {
	if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
		return err
	}
	service, rest := args[0], args[1:]
	changes := c.file != "" || len(c.reset) > 0
	if !changes && (len(rest) == 0 || len(rest) == 1 && !strings.Contains(rest[0], "=")) {
		return (&get{Session: c.Session, output: c.output}).run(ctx, args)
	}
	if len(c.reset) > 0 {
		if err := optionNames(c.reset); err != nil {
			return err
		}
	}
	values, err := c.ParseSettings(rest)
	if err != nil {
		return err
	}
	for _, key := range c.reset {
		if _, ok := values[key]; ok {
			return cli.Usagef("cannot set and reset key %q simultaneously", key)
		}
	}
	file := ""
	if c.file != "" {
		if len(rest) > 0 {
			return cli.Usagef("cannot specify --file and key=value arguments simultaneously")
		}
		if file, err = c.ReadOptions(c.file); err != nil {
			return err
		}
	}
	return cli.WithModel(ctx, c.Session, func(api configAPI) error {
		var changes []func() error
		if len(values) > 0 || file != "" {
			changes = append(changes, func() error { return setOptions(ctx, api, service, values, file) })
		}
		if len(c.reset) > 0 {
			changes = append(changes, func() error { return unsetOptions(ctx, api, service, c.reset) })
		}
		return c.Together(ctx, api, changes...)
	})
}
