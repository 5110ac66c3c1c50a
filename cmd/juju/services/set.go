package services

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func SetCommand(s *cli.Session) *cobra.Command {
	c := &set{Session: s}
	cmd := &cobra.Command{
		Use:     "set SERVICE KEY=VALUE...",
		Aliases: []string{"set-config"},
		Short:   "Change the settings of a service",
		Long: `Change settings of a service. If a setting is invalid, none are changed. KEY=@FILE reads
the value from a file. --config reads settings from a YAML file, where they are below the
service's name, or from the output of juju config: of that, the values that users have set
and those that you have edited.`,
		Example: `  juju set web title="Good morning" port=8081
  juju set web motd=@motd.txt
  juju set web --config web.yaml
  juju set web --to-default title port`,
		Annotations: cli.SeeAlso("get", "unset", "config"),
		RunE:        func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&c.file, "config", "", "read settings from a YAML file, or standard input if it is -")
	cmd.Flags().BoolVar(&c.toDefault, "to-default", false, "reset the named settings to the charm's defaults")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type setAPI interface {
	SetServiceConfig(ctx context.Context, service string, values map[string]string, yaml string) error
	ResetServiceConfig(ctx context.Context, service string, options ...string) error
}

type set struct {
	*cli.Session
	file      string
	toDefault bool
}

func (c *set) run(ctx context.Context, args []string) error {
	if err := cli.CheckServices(args[:min(1, len(args))]); err != nil {
		return err
	}
	service, rest := args[0], args[1:]
	switch {
	case c.toDefault && c.file != "":
		return cli.Usagef("cannot specify --config with --to-default")
	case c.toDefault:
		if err := optionNames(rest); err != nil {
			return err
		}
		return cli.WithModel(ctx, c.Session, func(api setAPI) error { return unsetOptions(ctx, api, service, rest) })
	case c.file != "" && len(rest) > 0:
		return cli.Usagef("cannot specify --config when using key=value arguments")
	case c.file == "" && len(rest) == 0:
		return cli.Usagef("no settings specified")
	}
	values, err := c.ParseSettings(rest)
	if err != nil {
		return err
	}
	file := ""
	if c.file != "" {
		if file, err = c.ReadOptions(c.file); err != nil {
			return err
		}
		if strings.TrimSpace(file) == "" {
			return errors.New("the option file is empty")
		}
	}
	return cli.WithModel(ctx, c.Session, func(api setAPI) error { return setOptions(ctx, api, service, values, file) })
}

func setOptions(ctx context.Context, api setAPI, service string, values map[string]string, file string) error {
	return optionHint(api.SetServiceConfig(ctx, service, values, file), service)
}

func unsetOptions(ctx context.Context, api setAPI, service string, keys []string) error {
	return optionHint(api.ResetServiceConfig(ctx, service, keys...), service)
}

// optionHint adds a hint to the error of an unknown option.
func optionHint(err error, service string) error {
	if err != nil && strings.Contains(err.Error(), "option") {
		return cli.WithHint(err, "To list the options: juju get "+service)
	}
	return err
}

// optionNames checks that the arguments are names of options.
func optionNames(args []string) error {
	if len(args) == 0 {
		return cli.Usagef("no options specified")
	}
	for _, arg := range args {
		if strings.Contains(arg, "=") || arg == "" {
			return entity.WithHint(cli.Usagef("invalid option name %q", arg), "Specify only names, without values: title port")
		}
	}
	return nil
}
