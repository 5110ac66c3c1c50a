package entity

import (
	"errors"
	"fmt"
)

// A Kind classifies an error by what a caller should do about it. There are few kinds, because one is
// useful only if callers act on it. A Kind is itself an error, so that errors.Is(err, entity.NotFound)
// works on both sides of the API. Its text is the code in Juju's wire protocol.
type Kind string

// The kinds. An error without one is internal: the API logs it and only tells the client that an
// internal error occurred.
const (
	NotFound          Kind = "not found"
	AlreadyExists     Kind = "already exists"
	Invalid           Kind = "bad request"                // the caller's input is wrong; nothing changed
	Unauthorized      Kind = "unauthorized access"        // not logged in, wrong password, or no permission
	NotAlive          Kind = "not alive"                  // the entity, or one that it needs, is Dying or Dead
	InUse             Kind = "in use"                     // something still references it
	Contention        Kind = "excessive contention"       // retry soon
	Moved             Kind = "model has changed"          // since the plan that the caller has seen
	Unavailable       Kind = "try again"                  // the peer is temporarily unreachable
	NotImplemented    Kind = "not implemented"            // no such method or version
	NotSupported      Kind = "not supported"              // this entity or cloud can't do it
	NotProvisioned    Kind = "not provisioned"            // the unit has no machine yet, or the machine no instance
	CannotEnter       Kind = "cannot enter scope"         // the unit or relation is not Alive
	CannotEnterYet    Kind = "cannot enter scope yet"     // the previous subordinate has not been removed
	HasSubordinates   Kind = "unit has subordinates"      // a principal can't become Dead before they are removed
	OperationBlocked  Kind = "operation is blocked"       // by disable-command
	Stopped           Kind = "stopped"                    // the watch has ended
	LeadershipRefused Kind = "leadership claim denied"    // another unit is the leader
	TaskGone          Kind = "action no longer available" // it is finished or was cancelled
	Damaged           Kind = "store is damaged"           // a file of the store is corrupt
	// PersistentStorage is the kind of the error that HasStorage returns.
	PersistentStorage Kind = "controller/model has persistent storage"
)

// Kinds that the store reports to the server. They are not sent to clients: KindOf and the wire report
// both as Unavailable, but errors.Is finds them.
const (
	StoreAway   Kind = "store is away"   // it doesn't answer, and requests fail until it is back
	StoreUnsure Kind = "store is unsure" // what was read may have been rolled back; read again
)

// Error returns the kind's code.
func (k Kind) Error() string { return string(k) }

// kinds lists all kinds, for KindOf and for the wire's table.
var kinds = []Kind{NotFound, AlreadyExists, Invalid, Unauthorized, NotAlive, InUse, Contention,
	Unavailable, NotImplemented, NotSupported, NotProvisioned, CannotEnter, CannotEnterYet,
	HasSubordinates, OperationBlocked, Stopped, LeadershipRefused, TaskGone, Damaged,
	PersistentStorage, Moved}

// Kinds returns all kinds.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }

// kindError is an error with a kind. Its text is only the message; errors.Is finds the kind.
type kindError struct {
	kind  Kind
	cause error // the message, with what it wraps
}

func (e *kindError) Error() string        { return e.cause.Error() }
func (e *kindError) Unwrap() error        { return e.cause }
func (e *kindError) Is(target error) bool { return target == e.kind }

// Errorf returns an error of kind k. It formats like fmt.Errorf, including %w.
func Errorf(k Kind, format string, args ...any) error {
	return &kindError{kind: k, cause: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of err or of an error that it wraps, or "" if there is none. The outermost
// kind wins, because the last classification had the most information.
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

// IsNotFound reports whether err is of kind NotFound.
func IsNotFound(err error) bool { return errors.Is(err, NotFound) }

// hintError is an error with a hint that isn't part of its text.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// WithHint adds a line to err that says what the user can do next. It doesn't change the error's text,
// which clients match word for word; commands print the hint on the line after the error.
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
