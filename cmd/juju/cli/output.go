package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/apiserver/display"
	"juju/apiserver/statusfmt"
	"juju/state/entity"
)

// An Output is the destination and format of a command's result.
type Output struct {
	Format string
	Path   string // "" for standard output
	flag   *pflag.Flag
}

// IsChosen reports whether the user gave --format.
func (o Output) IsChosen() bool { return o.flag != nil && o.flag.Changed }

func (o *Output) Flags(cmd *cobra.Command, format string, formats ...string) {
	if len(formats) > 0 {
		FormatFlag(cmd, &o.Format, format, formats...)
		o.flag = cmd.Flags().Lookup("format")
	}
	cmd.Flags().StringVarP(&o.Path, "output", "o", "",
		"write the output to `FILE`; a name such as x.json also chooses the format")
}

// FormatFlag adds --format, with a default and all that it can be.
func FormatFlag(cmd *cobra.Command, to *string, format string, formats ...string) {
	cmd.Flags().StringVar(to, "format", format, "the output format: "+OneOf(formats))
	_ = cmd.Flags().SetAnnotation("format", formatsKey, formats) // the flag is there
}

// formatsKey is the annotation of --format with what it can be.
const formatsKey = "formats"

// Formats returns what --format of a command can be, nil if it has no such flag.
func Formats(cmd *cobra.Command) []string {
	if f := cmd.Flags().Lookup("format"); f != nil {
		return f.Annotations[formatsKey]
	}
	return nil
}

// FormatOfFile sets --format to what the name of the --output file says, if the command has such a format and the user has
// not chosen one. A format alone, as in -o json, is no file: programs of other projects take formats there.
func FormatOfFile(cmd *cobra.Command) {
	output, format := cmd.Flags().Lookup("output"), cmd.Flags().Lookup("format")
	if output == nil || format == nil || format.Changed {
		return
	}
	if value := output.Value.String(); slices.Contains(Formats(cmd), value) {
		_, _ = format.Value.Set(value), output.Value.Set("") // texts take any
		return
	}
	name, ok := map[string]string{".json": "json", ".yaml": "yaml", ".yml": "yaml"}[filepath.Ext(output.Value.String())]
	if ok && slices.Contains(Formats(cmd), name) {
		_ = format.Value.Set(name) // a text takes any
	}
}

// Colors are the flags of a command whose output can have colors.
type Colors struct{ on, off bool }

func (c *Colors) Flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.on, "color", false, "use colors, even if the output is not a terminal")
	cmd.Flags().BoolVar(&c.off, "no-color", false, "do not use colors")
}

// Used reports whether the output has colors: by default on a terminal, unless NO_COLOR is set. path is the file that the
// output goes to, or "".
func (c Colors) Used(s *Session, path string) (bool, error) {
	if c.on && c.off {
		return false, Usagef("--color and --no-color are mutually exclusive")
	}
	return c.on || path == "" && !c.off && s.Paints(s.OutTerminal), nil
}

// Write prints a result.
func (s *Session) Write(o Output, text []byte) error {
	if o.Path == "" {
		_, err := s.Stdout.Write(text)
		return err
	}
	if err := s.CheckFile(o.Path); err != nil {
		return err
	}
	// The file may be shown on a terminal later.
	if err := os.WriteFile(o.Path, []byte(display.Text(string(text))), 0o644); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// WriteStyled prints a result with colors, in which external text is already escaped.
func (s *Session) WriteStyled(o Output, text []byte) error {
	if o.Path == "" {
		_, err := s.Stdout.Raw().Write(text)
		return err
	}
	return s.Write(o, text)
}

// CheckFormat checks that a format is yaml, json or one of the command's own formats.
func CheckFormat(format string, own ...string) error {
	formats := append(own, "yaml", "json")
	if !slices.Contains(formats, format) {
		return Usage(entity.WithHint(fmt.Errorf("unknown format %q", format), "Valid formats: %s",
			strings.Join(formats, ", ")))

	}
	return nil
}

func Encode(format string, v any) ([]byte, error) {
	if format == "json" {
		return display.JSON(v)
	}
	return display.YAML(v, 4)
}

var ListFormats = []string{"tabular", "yaml", "json"}

func CheckListFormat(format string) error {
	for _, f := range ListFormats {
		if f == format {
			return nil
		}
	}
	return Usage(entity.WithHint(fmt.Errorf("unknown format %q", format), "Valid formats: %s",
		strings.Join(ListFormats, ", ")))

}

// WriteList prints a list: value as YAML or JSON, or rows as a table with a header.
func (s *Session) WriteList(o Output, value any, rows [][]string) error {
	if o.Format != "tabular" {
		text, err := Encode(o.Format, value)
		if err != nil {
			return err
		}
		return s.Write(o, text)
	}
	return s.WriteTable(o, "", rows)
}

// WriteTable prints rows as a table with a header, below another line unless that is "". On a terminal it fits the table into
// its width.
func (s *Session) WriteTable(o Output, above string, rows [][]string) error {
	var b bytes.Buffer
	if above != "" {
		fmt.Fprintf(&b, "%s\n\n", display.Line(above))
	}
	width := 0
	if s.OutTerminal && o.Path == "" {
		width = s.Width()
	}
	_ = statusfmt.Rows(&b, rows, width > 0 && s.Paints(true), width) // a buffer does not fail
	return s.WriteStyled(o, b.Bytes())
}

// Table aligns rows in columns.
func Table(rows [][]string) []byte {
	var b bytes.Buffer
	_ = statusfmt.Rows(&b, rows, false, 0)
	return b.Bytes()
}

// WriteLines prints a text whose lines a terminal wraps between words.
func (s *Session) WriteLines(o Output, text string) error {
	if s.OutTerminal && o.Path == "" {
		text = display.Fold(text, s.Width())
	}
	return s.Write(o, []byte(text))
}

// OneOf writes "a, b or c".
func OneOf(words []string) string {
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

// InLine escapes the arguments of a format, so that the text fits on one line.
func InLine(args []any) []any {
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
