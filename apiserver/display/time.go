package display

import (
	"encoding/json"
	"time"
)

// A Time is a moment in a printed document. JSON, which programs read, has it in the one format of RFC 3339; YAML, which
// people read too, has the words in which Juju shows it there.
type Time struct {
	At    time.Time // zero: there is none, and Words say why
	Words string
}

// TimeIn returns a time whose words have a layout.
func TimeIn(at time.Time, layout string) Time {
	if at.IsZero() {
		return Time{}
	}
	return Time{at, at.Format(layout)}
}

func (t Time) String() string { return t.Words }

// IsZero reports whether there is nothing to print, which omits a field with omitzero or, in YAML, omitempty.
func (t Time) IsZero() bool { return t == Time{} }

func (t Time) MarshalYAML() (any, error) { return t.Words, nil }

func (t Time) MarshalJSON() ([]byte, error) {
	if t.At.IsZero() {
		return json.Marshal(t.Words)
	}
	return json.Marshal(t.At.Format(time.RFC3339))
}
