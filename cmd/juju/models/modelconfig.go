package models

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/charm/safeyaml"
	"juju/cmd/juju/cli"
	"juju/state/entity"
	"juju/state/modelconfig"
)

func ModelConfigCommand(s *cli.Session) *cobra.Command {
	m := &modelConfig{Session: s}
	cmd := &cobra.Command{
		Use: "model-config [KEY | KEY=VALUE...]",
		Aliases: []string{"get-model-config", "set-model-config", "unset-model-config", "get-env", "set-env", "unset-env",
			"get-environment", "set-environment", "unset-environment"},
		Short: "Show or change the settings of a model",
		Long: `Show all settings of a model with the source of each value, or the value of one setting;
or change settings. If a setting is invalid, none are changed. --file reads settings from
a YAML file, or what --format yaml prints; KEY=VALUE arguments override it. --reset resets
settings to their defaults. Changes take effect at once.

Settings of Juju 3.6 that have no effect here are accepted and kept, with a warning that
says why. default-base=ubuntu@24.04 sets default-series. Unknown keys are ignored, with a
warning.

The settings are:

` + modelSettingsHelp(),
		Example: `  juju model-config
  juju model-config automatically-retry-hooks
  juju model-config automatically-retry-hooks=true
  juju model-config --file model.yaml --reset provisioner-harvest-mode`,
		Annotations: cli.SeeAlso("model-constraints", "config", "show-model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Under these older names the arguments are keys to reset.
			if strings.HasPrefix(cmd.CalledAs(), "unset-") {
				m.reset, args = append(m.reset, args...), nil
			}
			return m.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&m.file, "file", "", "read settings from a YAML file, or standard input if it is -")
	cmd.Flags().StringSliceVar(&m.reset, "reset", nil, "`settings` to reset to their defaults, separated by commas")
	m.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func modelSettingsHelp() string {
	var text strings.Builder
	for _, s := range modelconfig.Shown {
		about := s.Type
		if len(s.Values) > 0 {
			about = cli.OneOf(s.Values)
		}
		if s.Default != "" {
			about += "; default " + s.Default
		}
		fmt.Fprintf(&text, "%s (%s)\n%s\n", s.Key, about, wrap("    ", s.Doc+"."))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// wrap breaks a text into indented lines that fit a terminal.
func wrap(indent, text string) string {
	const width = 84
	var out strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width && line != indent {
			out.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	out.WriteString(line)
	return out.String()
}

type modelConfigAPI interface {
	ModelConfig(ctx context.Context) (modelconfig.Config, error)
	SetModelConfig(ctx context.Context, config map[string]string) error
	ResetModelConfig(ctx context.Context, keys ...string) error
}

type modelConfig struct {
	*cli.Session
	file   string
	shown  map[string]string // values in the file as model-config prints them, which are not the model's own
	reset  []string
	output cli.Output
}

func (m *modelConfig) run(ctx context.Context, args []string) error {
	if m.shows(args) {
		if err := cli.CheckListFormat(m.output.Format); err != nil {
			return err
		}
		return cli.WithModel(ctx, m.Session, func(api modelConfigAPI) error { return m.show(ctx, api, args) })
	}
	values, err := m.values(args)
	if err != nil {
		return err
	}
	warnOfOften(m.Session, values)
	return cli.WithModel(ctx, m.Session, func(api modelConfigAPI) error {
		if err := m.addEdited(ctx, api, values); err != nil {
			return err
		}
		var changes []func() error
		if len(values) > 0 {
			changes = append(changes, func() error { return api.SetModelConfig(ctx, values) })
		}
		if len(m.reset) > 0 {
			changes = append(changes, func() error { return api.ResetModelConfig(ctx, m.reset...) })
		}
		return m.Together(ctx, api, changes...)
	})
}

// shows reports whether nothing is to be changed.
func (m *modelConfig) shows(args []string) bool {
	return m.file == "" && len(m.reset) == 0 && (len(args) == 0 || len(args) == 1 && !strings.Contains(args[0], "="))
}

// values returns the settings to change. It also checks the keys to reset, so that nothing changes if either is invalid.
func (m *modelConfig) values(args []string) (map[string]string, error) {
	values, err := m.fileValues()
	if err != nil {
		return nil, err
	}
	given, err := modelPairs(args)
	if err != nil {
		return nil, err
	}
	maps.Copy(values, given)
	for _, key := range m.reset {
		if strings.Contains(key, "=") {
			return nil, cli.Usagef(`--reset accepts a comma delimited set of keys "a,b,c", received: %q`, key)
		}
		if _, ok := values[key]; ok {
			return nil, cli.Usagef("cannot set and reset key %q simultaneously", key)
		}
		m.Warn(modelconfig.Words(map[string]string{key: ""})...)
	}
	m.Warn(modelconfig.Words(values)...)
	return values, nil
}

// fileValues reads the settings in --file, as users write them or as --format yaml or json prints them.
func (m *modelConfig) fileValues() (map[string]string, error) {
	values := map[string]string{}
	m.shown = map[string]string{}
	if m.file == "" {
		return values, nil
	}
	text, err := m.ReadOptions(m.file)
	if err != nil {
		return nil, err
	}
	var found map[string]any
	if err := safeyaml.Unmarshal([]byte(text), &found, safeyaml.Default); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", m.file, err)
	}
	for key, value := range found {
		to := values
		if printed, ok := value.(map[string]any); ok {
			var own bool
			if value, own = printedValue(printed); value == nil {
				continue
			} else if !own {
				to = m.shown
			}
		}
		switch value.(type) {
		case string, bool, int, float64:
			to[key] = fmt.Sprint(value)
		default:
			return nil, entity.Errorf(entity.Invalid, "cannot read %s: the value of %s is not a scalar", m.file, key)
		}
	}
	return values, nil
}

// printedValue returns the value of a setting as --format yaml or json prints it, nil if it is a default. own means that it is
// set for the model, or for new models.
func printedValue(printed map[string]any) (value any, own bool) {
	for name, v := range printed {
		switch strings.ToLower(name) {
		case "controller": // of model-defaults
			return v, true
		case "value":
			value = v
		case "source":
			own = v == modelconfig.FromModel
		}
	}
	return value, own
}

// addEdited adds the printed values that were not set for the model, and that it does not have.
func (m *modelConfig) addEdited(ctx context.Context, api modelConfigAPI, values map[string]string) error {
	if len(m.shown) == 0 {
		return nil
	}
	config, err := api.ModelConfig(ctx)
	for key, value := range m.shown {
		if _, given := values[key]; !given && config[key].Value != value {
			values[key] = value
		}
	}
	return err
}

// modelPairs parses KEY=VALUE settings. The controller validates them.
func modelPairs(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("expected \"key=value\", got %q", pair)
		}
		values[key] = value
	}
	return values, nil
}

// warnOfOften warns of settings by which hooks run more often than in normal use.
func warnOfOften(s *cli.Session, values map[string]string) {
	often, err := time.ParseDuration(values[modelconfig.UpdateStatus])
	if err == nil && 0 < often && often < modelconfig.UsualInterval {
		s.Warn(fmt.Sprintf("every unit of the model runs update-status each %v: below %v is for tests", often,
			modelconfig.UsualInterval))
	}
}

// ModelSettings parses and validates the settings of new models.
func ModelSettings(s *cli.Session, pairs []string) (map[string]string, error) {
	given, err := modelPairs(pairs)
	if err != nil {
		return nil, err
	}
	config, err := modelconfig.Parse(given)
	if err != nil {
		return nil, cli.Usage(err)
	}
	s.Warn(modelconfig.Words(given)...)
	warnOfOften(s, config)
	return config, nil
}

func (m *modelConfig) show(ctx context.Context, api modelConfigAPI, args []string) error {
	config, err := api.ModelConfig(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		setting, err := modelconfig.Find(args[0])
		if args[0] == modelconfig.AgentVersion.Key {
			setting, err = modelconfig.AgentVersion, nil
		}
		if series := config[modelconfig.DefaultSeries]; args[0] == modelconfig.DefaultBase {
			setting, err = modelconfig.Setting{Key: args[0]}, nil
			config[args[0]] = modelconfig.Value{Value: entity.BaseOf(series.Value).String(), Source: series.Source}
		}
		if _, ok := config[setting.Key]; !ok && setting.Unused != "" {
			config[setting.Key] = modelconfig.Value{Value: setting.Here, Source: modelconfig.FromDefault}
		}
		if err != nil {
			return entity.WithHint(fmt.Errorf("key %q not found in model settings", args[0]), "%s", entity.Hint(err))
		}
		if m.output.Format == "tabular" {
			shown := display.Line
			if setting.Lines {
				shown = display.Text
			}
			return m.Write(m.output, []byte(shown(strings.TrimSuffix(config[setting.Key].Value, "\n"))+"\n"))
		}
		config = modelconfig.Config{setting.Key: config[setting.Key]}
	} else {
		config = maps.Clone(config)
		delete(config, modelconfig.AuthorizedKeys) // juju ssh-keys lists them
	}
	shown := map[string]shownSetting{}
	rows := [][]string{{"Attribute", "From", "Value"}}
	if base, ok := config[modelconfig.DefaultBase]; ok {
		shown[modelconfig.DefaultBase] = shownSetting{base.Value, base.Source}
	}
	for _, setting := range slices.Concat([]modelconfig.Setting{modelconfig.AgentVersion}, modelconfig.All) {
		if v, ok := config[setting.Key]; ok {
			shown[setting.Key] = shownSetting{setting.Plain(v.Value), v.Source}
			rows = append(rows, []string{setting.Key, v.Source, v.Value})
		}
	}
	return m.WriteList(m.output, shown, rows)
}

// A shownSetting is a setting in YAML and JSON, with Juju's keys.
type shownSetting struct {
	Value  any    `yaml:"value" json:"Value"`
	Source string `yaml:"source" json:"Source"`
}
