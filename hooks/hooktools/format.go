package hooktools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"juju/charm/safeyaml"
)

// The formats of what a tool prints.
var formatters = map[string]func(any) ([]byte, error){
	"smart": formatSmart,
	"yaml":  formatYAML,
	"json":  formatJSON,
}

// outputFlags are the flags of tools that print a value.
type outputFlags struct {
	format string
	file   string
	plain  bool // there is no format smart
}

func (o *outputFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.format, "format", "smart", "print in this `format`: smart, json or yaml")
	o.addFile(flags)
}

// addPlain adds the flags of a tool that prints YAML unless it is asked for JSON.
func (o *outputFlags) addPlain(flags *pflag.FlagSet) {
	o.plain = true
	flags.StringVar(&o.format, "format", "yaml", "print in this `format`: json or yaml")
	o.addFile(flags)
}

func (o *outputFlags) addFile(flags *pflag.FlagSet) {
	flags.StringVarP(&o.file, "output", "o", "", "write to this `file` instead of the standard output")
}

func (o *outputFlags) check() error {
	if formatters[o.format] == nil || o.plain && o.format == "smart" {
		return &optionError{"format", o.format, fmt.Sprintf("unknown format %q", o.format)}
	}
	return nil
}

// write prints the value in the requested format. Empty values print nothing, not even a newline.
func (o *outputFlags) write(run *toolRun, value any) error {
	text, err := formatters[o.format](value)
	if err != nil {
		return fmt.Errorf("cannot print as %s: %w", o.format, err)
	}
	run.output = o.file
	run.stdout.Write(text)
	if len(text) > 0 {
		run.stdout.WriteByte('\n')
	}
	return nil
}

// formatSmart prints plain values as a shell wants them: strings as they are,
// lists a line each, booleans as the first charms knew them (True, False). All
// else is YAML.
func formatSmart(value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case []string:
		return []byte(strings.Join(v, "\n")), nil
	case bool:
		if v {
			return []byte("True"), nil
		}
		return []byte("False"), nil
	case float64:
		return strconv.AppendFloat(nil, v, 'f', -1, 64), nil
	}
	return formatYAML(value)
}

func formatYAML(value any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	text, err := safeyaml.Marshal(value, 2)
	return bytes.TrimSuffix(text, []byte("\n")), err
}

func formatJSON(value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // for programs that read, not for pages
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
