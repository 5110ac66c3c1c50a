package charm

import (
	"maps"
	"strings"
)

// OptionType is the type of a setting.
type OptionType string

// The option types. The value of a secret option is the secret's URI.
const (
	OptionString  OptionType = "string"
	OptionInt     OptionType = "int"
	OptionFloat   OptionType = "float"
	OptionBoolean OptionType = "boolean"
	OptionSecret  OptionType = "secret"
)

// Option is a setting of a charm.
type Option struct {
	Type        OptionType
	Description string
	Default     any // string, int64, float64, bool; nil if there is none
}

// IsSecret reports whether the option's value is a secret.
func (o Option) IsSecret() bool { return o.Type == OptionSecret }

// Config is the content of config.yaml: the settings of a charm.
type Config struct {
	Options  map[string]Option
	Warnings []string // about content without effect
}

// Trust is the setting by which a user lets a service know the credential of its cloud. It belongs to the service, not to
// its charm; a charm's option with this name can't be set.
const Trust = "trust"

// ForService returns the options that a user can set: those of the charm, and Trust.
func (c *Config) ForService() *Config {
	all := &Config{Options: map[string]Option{}}
	maps.Copy(all.Options, c.Options)
	all.Options[Trust] = Option{Type: OptionBoolean, Default: false,
		Description: "Does this application have access to trusted credentials"}
	return all
}

var optionKeys = []string{"type", "description", "default"}

// ParseConfig parses and checks config.yaml. An option without a type is a string.
func ParseConfig(data []byte) (*Config, error) {
	root, err := parseYAML(configFile, data)
	if err != nil {
		return nil, err
	}
	if root.empty() {
		return nil, root.errorf("invalid config: empty configuration")
	}
	top, err := root.fields()
	if err != nil {
		return nil, err
	}
	top.only([]string{"options"}, nil)
	entries, err := top.get("options").entries()
	if err != nil {
		return nil, err
	}
	c := &Config{Options: make(map[string]Option, len(entries))}
	for _, e := range entries {
		if c.Options[e.key], err = parseOption(e); err != nil {
			return nil, err
		}
	}
	c.Warnings = root.log.texts()
	return c, nil
}

func parseOption(e entry) (Option, error) {
	o := Option{Type: OptionString}
	// Users write name=value in one argument.
	if e.key == "" || strings.ContainsFunc(e.key, func(r rune) bool { return r <= ' ' || r == '=' || r == 0x7f }) {
		return o, e.value.refuse(optionRule, "invalid config: invalid option name %q", e.key)
	}
	fs, err := e.value.fields()
	if err != nil {
		return o, err
	}
	fs.only(optionKeys, nil)
	kind := fs.get("type")
	s, err := kind.written()
	if err != nil {
		return o, err
	}
	if s != "" {
		o.Type = OptionType(s)
	}
	switch o.Type {
	case OptionString, OptionInt, OptionFloat, OptionBoolean, OptionSecret:
	default:
		return o, kind.errorf("invalid config: option %q has unknown type %q", e.key, s)
	}
	if o.Description, err = fs.get("description").written(); err != nil {
		return o, err
	}
	def := fs.get("default")
	value, err := o.value(def)
	if err != nil {
		return o, err
	}
	if o.Default, err = o.coerce(e.key, value); err != nil {
		return o, def.errorf("invalid config default: %w", err)
	}
	return o, nil
}
