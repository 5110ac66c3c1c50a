package charm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Each of these functions returns either all the given settings, or only the error for the first
// invalid one by name.

// ParseSettings parses a service's settings given individually, and in a YAML file with the settings of
// several services, or "". The former take precedence.
func (c *Config) ParseSettings(service string, words map[string]string, file string) (map[string]any, error) {
	all := map[string]any{}
	if file != "" {
		var err error
		if all, err = c.ParseSettingsYAML([]byte(file), service); err != nil {
			return nil, err
		}
	}
	typed, err := c.ParseSettingsStrings(words)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, typed)
	return all, nil
}

// CheckSettings returns parsed settings, nil for those that are reset. It rejects settings for options
// that the charm does not have, or has with a different type.
func (c *Config) CheckSettings(settings map[string]any) (map[string]any, error) {
	return eachSetting(settings, func(name string, value any) (any, error) {
		o, err := c.option(name)
		if err != nil {
			return nil, err
		}
		return o.convert(name, value)
	})
}

// ParseSettingsStrings parses settings that users write on a command line, each by its
// option's type, and returns them as string, int64, float64 or bool. An empty value is
// the empty string for a string option and an error for any other.
//
// Errors: `unknown option "x"`, `option "x" expected int, got "y"`.
func (c *Config) ParseSettingsStrings(settings map[string]string) (map[string]any, error) {
	return eachSetting(settings, func(name, value string) (any, error) {
		o, err := c.option(name)
		if err != nil {
			return nil, err
		}
		return o.parse(name, value)
	})
}

// ParseSettingsYAML parses the settings of one service from a YAML file with the settings of
// several, by service name, or from what juju config prints of that service. An option of any type
// accepts a string, which is parsed as on the command line.
//
// The error for a missing service: `no settings found for "mysql"`.
func (c *Config) ParseSettingsYAML(data []byte, serviceName string) (map[string]any, error) {
	root, err := parseUserYAML("settings", data)
	if err != nil {
		return nil, err
	}
	services, err := root.fields()
	if err != nil {
		return nil, err
	}
	settings, found, err := services.printed(serviceName)
	if err != nil {
		return nil, err
	}
	if f, ok := services.keys[serviceName]; !found && ok && !f.empty() {
		keys, err := f.fields()
		if err != nil {
			return nil, err
		}
		settings, found = keys.keys, true
	}
	if !found {
		return nil, invalidf("no settings found for %q", serviceName)
	}
	return eachSetting(settings, func(name string, f field) (any, error) {
		o, err := c.option(name)
		if err != nil {
			return nil, f.errorf("%w", err)
		}
		value, err := o.value(f)
		if err != nil {
			return nil, err
		}
		if s, ok := value.(string); ok {
			value, err = o.parse(name, s)
		} else {
			value, err = o.convert(name, value)
		}
		if err != nil {
			return nil, f.errorf("%w", err)
		}
		return value, nil
	})
}

// printed returns the values by option of what juju config prints of a service, if the file is that. Those that a user has
// neither set nor edited in the file are left out.
func (fs fields) printed(service string) (values map[string]field, found bool, err error) {
	name := fs.get("application")
	if name.node == nil || name.node.Kind != yaml.ScalarNode || name.node.Value != service ||
		fs.get("settings").node == nil {
		return nil, false, nil
	}
	values = map[string]field{}
	for _, section := range []string{"settings", "application-config"} {
		options, err := fs.get(section).entries()
		if err != nil {
			return nil, false, err
		}
		for _, e := range options {
			option, err := e.value.fields()
			if err != nil {
				return nil, false, err
			}
			value, source, normal := option.get("value"), option.get("source"), option.get("default")
			isSet := source.node != nil && source.node.Value == "user"
			if !value.empty() && (isSet || normal.empty() || value.node.Value != normal.node.Value) {
				values[e.key] = value
			}
		}
	}
	return values, true, nil
}

// UsableSettings returns the stored settings that match an option of the charm and its type, or can be converted to it
// without loss. Others may be left from a previous charm of the service.
func (c *Config) UsableSettings(stored map[string]any) map[string]any {
	usable := map[string]any{}
	for name, value := range stored {
		o, err := c.option(name)
		if err != nil {
			continue
		}
		if value, err = o.carry(name, value); err == nil && value != nil {
			usable[name] = value
		}
	}
	return usable
}

// DefaultSettings returns the default of every option, nil for an option without one.
func (c *Config) DefaultSettings() map[string]any {
	defaults := make(map[string]any, len(c.Options))
	for name, o := range c.Options {
		defaults[name] = o.Default
	}
	return defaults
}

func eachSetting[V any](settings map[string]V, one func(name string, value V) (any, error)) (map[string]any, error) {
	out := make(map[string]any, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		v, err := one(name, settings[name])
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

func (c *Config) option(name string) (Option, error) {
	o, ok := c.Options[name]
	if !ok {
		return o, invalidf("unknown option %q", name)
	}
	return o, nil
}

func (o Option) mismatch(name string, value any) error {
	return invalidf("option %q expected %s, got %s", name, o.Type, shown(value))
}

// value returns what is written for the option. For a string it is the text as it is written:
// 01182252, yes, 0x1F and 1:30 are none of a number or boolean. Nothing, null and ~ are no value.
func (o Option) value(f field) (any, error) {
	if o.Type == OptionString && !f.empty() && f.node.Kind == yaml.ScalarNode && f.node.ShortTag() != "!!binary" {
		return f.node.Value, nil
	}
	return f.value()
}

// coerce is convert for defaults: like Juju, it also accepts strings for ints and booleans.
func (o Option) coerce(name string, value any) (any, error) {
	s, _ := value.(string)
	switch o.Type {
	case OptionInt:
		if i, err := strconv.ParseInt(s, 0, 64); err == nil {
			return i, nil
		}
	case OptionBoolean:
		if b, err := strconv.ParseBool(s); err == nil {
			return b, nil
		}
	case OptionSecret:
		if value == "" { // no URI, and kept as in Juju
			return value, nil
		}
	}
	return o.convert(name, value)
}

// convert converts value to the option's type. It does not accept strings for numbers.
func (o Option) convert(name string, value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	switch o.Type {
	case OptionString, OptionSecret:
		if s, ok := value.(string); ok {
			return o.parse(name, s)
		}
	case OptionBoolean:
		if b, ok := value.(bool); ok {
			return b, nil
		}
	case OptionInt:
		if i, ok := wholeNumber(value); ok {
			return i, nil
		}
	case OptionFloat:
		f, ok := value.(float64)
		switch v := value.(type) {
		case float32:
			f, ok = float64(v), true
		case json.Number:
			return o.parse(name, string(v))
		}
		if i, whole := wholeNumber(value); whole && !ok {
			f, ok = float64(i), true
		}
		if ok && isFinite(f) {
			return f, nil
		}
	}
	return nil, o.mismatch(name, value)
}

// carry is convert for a value of a previous charm, whose option may have had another type: text is read as a user's, if
// the result is written like the text, and numbers and booleans become text.
func (o Option) carry(name string, value any) (any, error) {
	converted, err := o.convert(name, value)
	if err == nil {
		return converted, nil
	}
	switch text, isText := value.(string); {
	case isText:
		if read, parseErr := o.parse(name, text); parseErr == nil && fmt.Sprint(read) == text {
			return read, nil
		}
	case o.Type == OptionString:
		return fmt.Sprint(value), nil
	case o.Type == OptionInt:
		if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), nil
		}
	}
	return nil, err
}

// parse parses user input.
func (o Option) parse(name, s string) (value any, err error) {
	switch o.Type {
	case OptionString:
		if !utf8.ValidString(s) {
			return nil, invalidf("value for option %q contains non-UTF-8 sequences", name)
		}
		return s, nil
	case OptionSecret:
		// Only the form is checked: the store of secrets checks whether the secret exists.
		if id, ok := strings.CutPrefix(s, "secret:"); ok && id != "" &&
			!strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return s, nil
		}
		switch scheme, _, has := strings.Cut(s, ":"); {
		case !has:
			return nil, invalidf("option %q: secret URI scheme missing not valid", name)
		case scheme != "secret":
			return nil, invalidf("option %q: secret URI scheme %q not valid", name, scheme)
		}
		return nil, o.mismatch(name, s)
	case OptionInt:
		value, err = strconv.ParseInt(s, 10, 64)
	case OptionFloat:
		var f float64
		f, err = strconv.ParseFloat(s, 64)
		if !isFinite(f) {
			err = strconv.ErrRange
		}
		value = f
	case OptionBoolean:
		value, err = strconv.ParseBool(s)
	}
	if err != nil {
		return nil, o.mismatch(name, s)
	}
	return value, nil
}

// isFinite reports whether f is a number at all, which is what JSON can carry.
func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// wholeNumber returns a Go number as an int64, if it is a whole number.
func wholeNumber(value any) (int64, bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint:
		return int64(v), v <= math.MaxInt64
	case uint64:
		return int64(v), v <= math.MaxInt64
	case float32:
		return wholeNumber(float64(v))
	case float64:
		// From 2^53, several whole numbers share a float64.
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	case json.Number:
		i, err := strconv.ParseInt(string(v), 10, 64)
		return i, err == nil
	}
	return 0, false
}
