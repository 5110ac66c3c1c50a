package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

// A logEntry is a line of a log in JSON.
type logEntry struct {
	Time     time.Time `json:"time"`
	Level    string    `json:"level"`
	Module   string    `json:"module"`
	Location string    `json:"location"` // "file.go:123"
	Entity   string    `json:"entity"`   // whose log it is: "unit-web-0"
	Model    string    `json:"model"`    // the name of the entity's model
	Message  string    `json:"message"`
}

// LogWriter returns a writer of the log of an entity in a model. text formats an entry in TextLog.
func LogWriter(w io.Writer, format entity.LogFormat, who entity.Tag, model string,
	text func(loggo.Entry) string) loggo.Writer {
	if format != entity.JSONLog {
		return loggo.NewSimpleWriter(w, text)
	}
	return loggo.NewSimpleWriter(w, func(e loggo.Entry) string {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		// Strings and a time can always be encoded.
		_ = encoder.Encode(logEntry{e.Timestamp.UTC(), e.Level.String(), e.Module, location(e), who.String(), model, e.Message})
		return strings.TrimSuffix(line.String(), "\n")
	})
}

// location returns where an entry was logged.
func location(e loggo.Entry) string { return fmt.Sprintf("%s:%d", filepath.Base(e.Filename), e.Line) }

// logFormatOf takes --log-format from the beginning of an agent's arguments. "" means that there is none.
func logFormatOf(args []string) (format entity.LogFormat, rest []string, err error) {
	const flag = "--log-format"
	if len(args) == 0 {
		return "", args, nil
	}
	value, given := strings.CutPrefix(args[0], flag+"=")
	rest = args[1:]
	switch {
	case given:
	case args[0] != flag:
		return "", args, nil
	case len(rest) == 0:
		return "", nil, entity.Errorf(entity.Invalid, "%s needs text or json", flag)
	default:
		value, rest = rest[0], rest[1:]
	}
	err = format.UnmarshalText([]byte(value))
	return format, rest, err
}
