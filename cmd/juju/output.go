package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/cmd/juju/display"
	"juju/cmd/juju/statusfmt"
	"juju/state/entity"
)

// An output is the destination and format of a command's result.
type output struct {
	format string
	path   string // "" for standard output
	flag   *pflag.Flag
}

// isChosen reports whether the user gave --format.
func (o output) isChosen() bool { return o.flag != nil && o.flag.Changed }

func (o *output) flags(cmd *cobra.Command, format string, formats ...string) {
	if len(formats) > 0 {
		cmd.Flags().StringVar(&o.format, "format", format, "the output format: "+oneOf(formats))
		o.flag = cmd.Flags().Lookup("format")
	}
	cmd.Flags().StringVarP(&o.path, "output", "o", "", "a file to write the output to")
}

// write prints a result.
func (s *session) write(o output, text []byte) error {
	if o.path == "" {
		_, err := s.stdout.Write(text)
		return err
	}
	// The file may be shown on a terminal later.
	if err := os.WriteFile(o.path, []byte(display.Text(string(text))), 0o644); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// writeStyled prints a result with colors, in which text from elsewhere is escaped already.
func (s *session) writeStyled(o output, text []byte) error {
	if o.path == "" {
		_, err := s.stdout.Raw().Write(text)
		return err
	}
	return s.write(o, text)
}

// checkFormat checks that a format is yaml, json or one of the command's own.
func checkFormat(format string, own ...string) error {
	formats := append(own, "yaml", "json")
	if !slices.Contains(formats, format) {
		return usageError{entity.WithHint(fmt.Errorf("unknown format %q", format), "Valid formats: %s",
			strings.Join(formats, ", "))}
	}
	return nil
}

func encode(format string, v any) ([]byte, error) {
	if format == "json" {
		return display.JSON(v)
	}
	return display.YAML(v, 4)
}

// listFormats are the formats of commands that print lists.
var listFormats = []string{"tabular", "yaml", "json"}

func checkListFormat(format string) error {
	for _, f := range listFormats {
		if f == format {
			return nil
		}
	}
	return usageError{entity.WithHint(fmt.Errorf("unknown format %q", format), "Valid formats: %s",
		strings.Join(listFormats, ", "))}
}

// writeList prints a list: value as YAML or JSON, or the rows as a table, of which the first
// is the header.
func (s *session) writeList(o output, value any, rows [][]string) error {
	if o.format != "tabular" {
		text, err := encode(o.format, value)
		if err != nil {
			return err
		}
		return s.write(o, text)
	}
	return s.write(o, table(rows))
}

// table aligns rows in columns.
func table(rows [][]string) []byte {
	var b bytes.Buffer
	_ = statusfmt.Rows(&b, rows) // a buffer does not fail
	return b.Bytes()
}

// oneOf writes "a, b or c".
func oneOf(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " or "
		default:
			text += ", "
		}
		text += w
	}
	return text
}

// inLine escapes the arguments of a format, so that the text stays on one line.
func inLine(args []any) []any {
	shown := slices.Clone(args)
	for i, arg := range shown {
		switch arg := arg.(type) {
		case string:
			shown[i] = display.Line(arg)
		case error:
			shown[i] = display.Line(arg.Error())
		case fmt.Stringer:
			shown[i] = display.Line(arg.String())
		}
	}
	return shown
}
