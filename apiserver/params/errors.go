package params

import (
	"fmt"
	"reflect"

	"juju/state/entity"
	"juju/state/limits"
)

// codes maps error codes on the wire to kinds of errors. Errors of other kinds are internal.
var codes = func() map[string]entity.Kind {
	table := map[string]entity.Kind{}
	for _, kind := range entity.Kinds() {
		table[string(kind)] = kind
	}
	return table
}()

// Internal is the text that clients get for an internal error. Its own text may contain secrets, and is only written to
// the controller's log.
const Internal = "internal error"

// hintKey is the key of entity.Hint in an error's info.
const hintKey = "hint"

// An Error is an error within a result, for one of several requested changes.
type Error struct {
	Message string         `json:"message"`
	Code    string         `json:"code"` // an entity.Kind, or "" for an internal error
	Info    map[string]any `json:"info,omitempty"`
}

// ToError returns err in the wire format, nil for nil. It masks an error without a kind, which the caller should have
// logged.
func ToError(err error) *Error {
	if err == nil {
		return nil
	}
	kind := entity.KindOf(err)
	if _, ok := codes[string(kind)]; !ok {
		return &Error{Message: Internal}
	}
	// Errors often quote the request, which may be long.
	e := &Error{Message: limits.StatusMessage.Cut(err.Error()), Code: string(kind)}
	if hint := entity.Hint(err); hint != "" {
		e.Info = map[string]any{hintKey: hint}
	}
	return e
}

// Failures returns the errors of the changes in a result that has one for each.
func Failures(result any) []*Error { return failures(reflect.ValueOf(result), nil, 0) }

func failures(v reflect.Value, all []*Error, depth int) []*Error {
	if !v.IsValid() || depth > 8 {
		return all
	}
	if e, ok := reflect.TypeAssert[*Error](v); ok {
		if e != nil {
			all = append(all, e)
		}
		return all
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			all = failures(v.Elem(), all, depth+1)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = failures(v.Index(i), all, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = failures(v.Field(i), all, depth+1)
			}
		}
	}
	return all
}

// FromError is the inverse of ToError: it restores the text, kind and hint of an error. It returns nil for nil.
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

// An ErrorResult is the result of one of several changes.
type ErrorResult struct {
	Error *Error `json:"error,omitempty"`
}

// ErrorResults are results in the order of the request.
type ErrorResults struct {
	Results []ErrorResult `json:"results"`
}
