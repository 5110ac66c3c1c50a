package charm

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is matched, with errors.Is, by all validation errors of this package: malformed files, URLs,
// settings and archives.
var ErrInvalid = errors.New("invalid charm")

// FileError describes a mistake in a file of a charm.
type FileError struct {
	File  string // slash-separated, relative to the charm: "metadata.yaml"
	Line  int    // counted from 1; 0 when not known
	Field string // dotted path in a YAML file: "provides.db.interface"; may be empty
	Err   error
}

// Error reads "metadata.yaml:4: provides.db.interface: expected string, got 5".
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field)
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

func (e *FileError) Unwrap() error { return e.Err }

// Is makes every FileError an ErrInvalid.
func (e *FileError) Is(target error) bool { return target == ErrInvalid }

// ruleError is a broken rule that concerns no particular file.
type ruleError struct{ err error }

func invalidf(format string, args ...any) error {
	return &ruleError{fmt.Errorf(format, args...)}
}

func (e *ruleError) Error() string        { return e.err.Error() }
func (e *ruleError) Unwrap() error        { return e.err }
func (e *ruleError) Is(target error) bool { return target == ErrInvalid }

// helpError adds the rule itself to an error; it is not part of the error's text.
type helpError struct {
	error
	help string
}

func (e *helpError) Unwrap() error { return e.error }

// contained adds to an error about a link what is asked of charms.
func contained(err error) error {
	return &helpError{err, "A charm must contain its files, since only the charm is sent to its units: " +
		"copy what the link leads to into the charm"}
}

// Help returns the rule that an error of this package says is broken, as a line of its own, or
// "" if the error explains itself.
func Help(err error) string {
	var h *helpError
	if errors.As(err, &h) {
		return h.help
	}
	return ""
}
