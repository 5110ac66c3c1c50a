package charm

import "strings"

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

// Config is the content of config.yaml: the settings of a charm.
type Config struct {
	Options map[string]Option
}

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
	if kind := fs.get("type"); !kind.empty() {
		s, err := kind.text()
		if err != nil {
			return o, err
		}
		o.Type = OptionType(s)
		switch o.Type {
		case OptionString, OptionInt, OptionFloat, OptionBoolean, OptionSecret:
		default:
			return o, kind.errorf("invalid config: option %q has unknown type %q", e.key, s)
		}
	}
	if o.Description, err = fs.get("description").optionalText(); err != nil {
		return o, err
	}
	def := fs.get("default")
	value, err := def.value()
	if err != nil {
		return o, err
	}
	if b, err := def.boolean(); err == nil && !def.empty() && o.Type == OptionBoolean {
		value = b // including an unquoted yes or no
	}
	if value == "" && o.Type == OptionSecret {
		value = nil
	}
	if o.Default, err = o.convert(e.key, value); err != nil {
		return o, def.errorf("invalid config default: %w", err)
	}
	return o, nil
}
