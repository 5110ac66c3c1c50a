package entity

import (
	"errors"
	"fmt"
)

// A Kind says what a caller may do about an error. There are few, because a
// kind is worth having only if some caller acts on it. A Kind is itself an
// error, so that errors.Is(err, entity.NotFound) works on either side of the
// API. The text of each is the code that Juju's wire protocol uses for it.
type Kind string

// The kinds. An error with none of them is internal: the API logs it and
// tells the client no more than that.
const (
	NotFound          Kind = "not found"
	AlreadyExists     Kind = "already exists"
	Invalid           Kind = "bad request"             // the caller's input is wrong; nothing changed
	Unauthorized      Kind = "unauthorized access"     // no login, wrong password, or not theirs
	NotAlive          Kind = "not alive"               // the entity, or one that it needs, is going away
	InUse             Kind = "in use"                  // something still refers to it
	Contention        Kind = "excessive contention"    // try again soon
	Unavailable       Kind = "try again"               // the other side is not there just now
	NotImplemented    Kind = "not implemented"         // no such method or version
	NotSupported      Kind = "not supported"           // known, but this entity or cloud can't do it
	NotProvisioned    Kind = "not provisioned"         // the machine has no instance yet
	NotAssigned       Kind = "not assigned"            // the unit has no machine yet
	CannotEnter       Kind = "cannot enter scope"      // unit or relation is not alive
	CannotEnterYet    Kind = "cannot enter scope yet"  // the old subordinate has not been removed
	HasSubordinates   Kind = "unit has subordinates"   // a principal is not Dead before they are gone
	OperationBlocked  Kind = "operation is blocked"    // disable-command is on
	Stopped           Kind = "stopped"                 // the watch was ended
	LeadershipRefused Kind = "leadership claim denied" // somebody else leads
	Damaged           Kind = "store is damaged"        // a file of the store does not hold what was written
)

// Error returns the kind's code.
func (k Kind) Error() string { return string(k) }

// kinds lists all kinds once, for KindOf and for the wire's table.
var kinds = []Kind{NotFound, AlreadyExists, Invalid, Unauthorized, NotAlive, InUse, Contention,
	Unavailable, NotImplemented, NotSupported, NotProvisioned, NotAssigned, CannotEnter, CannotEnterYet,
	HasSubordinates, OperationBlocked, Stopped, LeadershipRefused, Damaged}

// Kinds returns every kind there is.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }

// kindError is an error of a kind: what it says is its message alone, what it
// is can be asked with errors.Is.
type kindError struct {
	kind  Kind
	cause error // what the message wraps with %w, and the message itself
}

func (e *kindError) Error() string        { return e.cause.Error() }
func (e *kindError) Unwrap() error        { return e.cause }
func (e *kindError) Is(target error) bool { return target == e.kind }

// Errorf makes an error of kind k; format and args are those of fmt.Errorf,
// %w included.
func Errorf(k Kind, format string, args ...any) error {
	return &kindError{kind: k, cause: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of err, looking through what it wraps, or "" when it
// has none. The outermost kind wins: whoever classified the error last knew most.
func KindOf(err error) Kind {
	for err != nil {
		switch e := err.(type) {
		case *kindError:
			return e.kind
		case Kind:
			return e
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range many.Unwrap() {
				if k := KindOf(one); k != "" {
					return k
				}
			}
			return ""
		}
		err = errors.Unwrap(err)
	}
	return ""
}

// hintError is an error with a line of advice, which is not part of its text.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// WithHint attaches to err what the user can do next, in one line. The text of
// the error stays what it was, because others match it word for word; whoever
// prints the error prints the hint on a line after it.
func WithHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// Hint returns the outermost advice attached to err, or "".
func Hint(err error) string {
	var h *hintError
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
