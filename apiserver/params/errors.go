package params

import (
	"fmt"

	"juju/state/entity"
)

// codes maps the codes on the wire to the kinds of errors. Errors of other kinds are internal.
var codes = func() map[string]entity.Kind {
	table := map[string]entity.Kind{}
	for _, kind := range entity.Kinds() {
		table[string(kind)] = kind
	}
	return table
}()

// Internal is what clients see of an internal error. Its text may have secrets, and goes only
// to the controller's log.
const Internal = "internal error"

// hintKey is the key in an error's info that carries entity.Hint.
const hintKey = "hint"

// An Error is the error within a result, for one of several requested changes.
type Error struct {
	Message string         `json:"message"`
	Code    string         `json:"code"` // an entity.Kind, or "" for an internal error
	Info    map[string]any `json:"info,omitempty"`
}

// ToError returns the wire's form of err, nil for nil. It masks an error without a kind, which
// the caller should have logged.
func ToError(err error) *Error {
	if err == nil {
		return nil
	}
	kind := entity.KindOf(err)
	if _, ok := codes[string(kind)]; !ok {
		return &Error{Message: Internal}
	}
	// Errors often quote the request, which may be long.
	e := &Error{Message: entity.LimitStatusMessage.Cut(err.Error()), Code: string(kind)}
	if hint := entity.Hint(err); hint != "" {
		e.Info = map[string]any{hintKey: hint}
	}
	return e
}

// FromError returns the error that ToError was given, with its text, kind and hint; nil for
// nil.
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

// ErrorResults are outcomes in the order of the request.
type ErrorResults struct {
	Results []ErrorResult `json:"results"`
}
