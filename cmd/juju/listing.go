package main

import (
	"bytes"
	"fmt"
	"strings"

	"juju/cmd/juju/statusfmt"
	"juju/state/entity"
)

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
