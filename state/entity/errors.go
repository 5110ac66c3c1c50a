package entity

import (
	"errors"
	"fmt"
)

// A Kind tells a caller what to do about an error. There are few, because a kind is useful only
// if a caller acts on it. A Kind is itself an error, so that errors.Is(err, entity.NotFound)
// works on either side of the API. Its text is the code in Juju's wire protocol.
type Kind string

// The kinds. An error without one is internal: the API logs it and tells the client no more than
// that.
const (
	NotFound          Kind = "not found"
	AlreadyExists     Kind = "already exists"
	Invalid           Kind = "bad request"                // the caller's input is wrong; nothing changed
	Unauthorized      Kind = "unauthorized access"        // not logged in, wrong password, or no permission
	NotAlive          Kind = "not alive"                  // the entity, or one that it needs, is going away
	InUse             Kind = "in use"                     // something still refers to it
	Contention        Kind = "excessive contention"       // try again soon
	Unavailable       Kind = "try again"                  // the other side is unreachable at the moment
	NotImplemented    Kind = "not implemented"            // no such method or version
	NotSupported      Kind = "not supported"              // known, but this entity or cloud can't do it
	NotProvisioned    Kind = "not provisioned"            // the unit has no machine, or the machine no instance, yet
	CannotEnter       Kind = "cannot enter scope"         // unit or relation is not alive
	CannotEnterYet    Kind = "cannot enter scope yet"     // the old subordinate has not been removed
	HasSubordinates   Kind = "unit has subordinates"      // a principal is not Dead before they are gone
	OperationBlocked  Kind = "operation is blocked"       // disable-command is on
	Stopped           Kind = "stopped"                    // the watch has ended
	LeadershipRefused Kind = "leadership claim denied"    // another unit is the leader
	TaskGone          Kind = "action no longer available" // it is over, or was cancelled
	Damaged           Kind = "store is damaged"           // a file of the store doesn't contain what was written
	// PersistentStorage is the kind of what HasStorage returns.
	PersistentStorage Kind = "controller/model has persistent storage"
)

// What the store reports to the server. KindOf and the wire call both Unavailable; errors.Is finds them.
const (
	StoreAway   Kind = "store is away"   // no answer, and no request will get one for now
	StoreUnsure Kind = "store is unsure" // what was read may have been undone; read again
)

// Error returns the kind's code.
func (k Kind) Error() string { return string(k) }

// kinds lists all kinds, for KindOf and for the wire's table.
var kinds = []Kind{NotFound, AlreadyExists, Invalid, Unauthorized, NotAlive, InUse, Contention,
	Unavailable, NotImplemented, NotSupported, NotProvisioned, CannotEnter, CannotEnterYet,
	HasSubordinates, OperationBlocked, Stopped, LeadershipRefused, TaskGone, Damaged,
	PersistentStorage}

// Kinds returns all kinds.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }

// kindError is an error of a kind: its text is the message alone, its kind is found with
// errors.Is.
type kindError struct {
	kind  Kind
	cause error // what the message wraps with %w, and the message itself
}

func (e *kindError) Error() string        { return e.cause.Error() }
func (e *kindError) Unwrap() error        { return e.cause }
func (e *kindError) Is(target error) bool { return target == e.kind }

// Errorf returns an error of kind k; format and args are those of fmt.Errorf, including %w.
func Errorf(k Kind, format string, args ...any) error {
	return &kindError{kind: k, cause: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of err, looking through what it wraps, or "" if it has none. The
// outermost kind wins: the last classification had the most information.
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

// IsNotFound is for callers that expect that an entity may be gone.
func IsNotFound(err error) bool { return errors.Is(err, NotFound) }

// hintError is an error with a line of advice that isn't part of its text.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// WithHint adds a line to err that says what the user can do next. The text of the error doesn't
// change, because others match it word for word; the command that prints the error prints the
// hint on the next line.
func WithHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// Hint returns the outermost hint of err, or "".
func Hint(err error) string {
	var h *hintError
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
