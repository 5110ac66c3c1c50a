package models

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ModelDefaultsCommand(s *cli.Session) *cobra.Command {
	m := &modelConfig{Session: s}
	cmd := &cobra.Command{
		Use:     "model-defaults [KEY | KEY=VALUE...]",
		Aliases: []string{"model-default", "get-model-defaults", "set-model-defaults", "unset-model-defaults", "list-model-defaults"},
		Short:   "Show or change the settings that new models get",
		Long: `Show the settings that new models of a controller get, or the value of one; or change
them. A model keeps what it got when it was added: to change that, use juju model-config.
If a setting is invalid, none are changed. --file reads settings from a YAML file;
KEY=VALUE arguments override it. juju help model-config lists the settings.`,
		Example: `  juju model-defaults
  juju model-defaults automatically-retry-hooks=true
  juju model-defaults --reset automatically-retry-hooks`,
		Annotations: cli.SeeAlso("model-config", "add-model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.CalledAs() == "unset-model-defaults" { // here the arguments are keys to reset
				m.reset, args = append(m.reset, args...), nil
			}
			return m.runDefaults(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&m.file, "file", "", "read settings from a YAML file, or standard input if it is -")
	cmd.Flags().StringSliceVar(&m.reset, "reset", nil, "`settings` to reset to their own defaults, separated by commas")
	m.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}

type modelDefaultsAPI interface {
	ModelDefaults(ctx context.Context) (map[string]entity.ModelDefault, error)
	SetModelDefaults(ctx context.Context, config map[string]string) error
	ResetModelDefaults(ctx context.Context, keys ...string) error
}

func (m *modelConfig) runDefaults(ctx context.Context, args []string) error {
	if m.shows(args) {
		if err := cli.CheckListFormat(m.output.Format); err != nil {
			return err
		}
		return cli.WithController(ctx, m.Session, func(_ cli.Target, api modelDefaultsAPI) error {
			return m.showDefaults(ctx, api, args)
		})
	}
	values, err := m.values(args)
	if err != nil {
		return err
	}
	return cli.WithController(ctx, m.Session, func(_ cli.Target, api modelDefaultsAPI) error {
		if len(values) > 0 {
			if err := api.SetModelDefaults(ctx, values); err != nil {
				return err
			}
		}
		if len(m.reset) > 0 {
			return api.ResetModelDefaults(ctx, m.reset...)
		}
		return nil
	})
}

// A shownDefault is a default in YAML and JSON.
type shownDefault struct {
	Default    any `yaml:"default,omitempty" json:"default,omitempty"`
	Controller any `yaml:"controller,omitempty" json:"controller,omitempty"`
}

func (m *modelConfig) showDefaults(ctx context.Context, api modelDefaultsAPI, args []string) error {
	all, err := api.ModelDefaults(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		one, ok := all[args[0]]
		if !ok {
			return entity.WithHint(fmt.Errorf("key %q not found in model defaults", args[0]),
				"To list them: juju model-defaults")
		}
		all = map[string]entity.ModelDefault{args[0]: one}
	}
	shown := map[string]shownDefault{}
	rows := [][]string{{"Attribute", "Default", "Controller"}}
	text := func(v any) string {
		if v == nil || v == "" {
			return "-"
		}
		return display.Line(strings.TrimSpace(fmt.Sprint(v)))
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		one := all[key]
		shown[key] = shownDefault(one)
		rows = append(rows, []string{key, text(one.Default), text(one.Controller)})
	}
	return m.WriteList(m.output, shown, rows)
}
