package params

import (
	"fmt"

	"juju/state/entity"
)

// codes is the one table from an error's kind to its code on the wire; it is
// used in both directions. What is not in it is internal.
var codes = func() map[string]entity.Kind {
	table := map[string]entity.Kind{}
	for _, kind := range entity.Kinds() {
		table[string(kind)] = kind
	}
	return table
}()

// Internal is all that a client is told of an error that has no kind: its
// text may hold what is none of the client's business, and only the
// controller's log says it.
const Internal = "internal error"

// hintKey is the key in an error's info that carries entity.Hint.
const hintKey = "hint"

// An Error is an error within a result, where one of several things asked for
// has failed.
type Error struct {
	Message string         `json:"message"`
	Code    string         `json:"code"` // an entity.Kind, or "" for an internal error
	Info    map[string]any `json:"info,omitempty"`
}

// ToError returns what the wire says of err, nil for nil. An error without a
// kind is masked; the caller should have logged it.
func ToError(err error) *Error {
	if err == nil {
		return nil
	}
	kind := entity.KindOf(err)
	if _, ok := codes[string(kind)]; !ok {
		return &Error{Message: Internal}
	}
	// An error often quotes what was sent, which may be long.
	e := &Error{Message: entity.LimitStatusMessage.Cut(err.Error()), Code: string(kind)}
	if hint := entity.Hint(err); hint != "" {
		e.Info = map[string]any{hintKey: hint}
	}
	return e
}

// FromError rebuilds the error that ToError was given, as far as the wire
// carries it: its text, kind and hint. It returns nil for nil.
func FromError(e *Error) error {
	if e == nil {
		return nil
	}
	err := fmt.Errorf("%s", e.Message)
	if kind, ok := codes[e.Code]; ok {
		err = entity.Errorf(kind, "%s", e.Message)
	}
	if hint, ok := e.Info[hintKey].(string); ok && hint != "" {
		err = entity.WithHint(err, "%s", hint)
	}
	return err
}

// An ErrorResult is the outcome of one of several changes.
type ErrorResult struct {
	Error *Error `json:"error,omitempty"`
}

// ErrorResults are outcomes in the order of what was asked.
type ErrorResults struct {
	Results []ErrorResult `json:"results"`
}
