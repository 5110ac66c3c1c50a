package params

import (
	"errors"
	"time"
)

// A Time is a time in a request.
type Time struct{ time.Time }

// NewTime returns a time for an optional field of a request: nil for the zero time.
func NewTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t.UTC()}
}

// UnmarshalJSON reads a time as time.Time does. The error says what a time looks like: it is for users.
func (t *Time) UnmarshalJSON(text []byte) error {
	if err := t.Time.UnmarshalJSON(text); err != nil {
		return errors.New("a time must be a text such as 2013-06-07T08:09:10Z")
	}
	return nil
}
