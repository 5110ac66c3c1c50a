package cli

import (
	"errors"
	"fmt"

	"juju/state/entity"
)

// An ExitError is the exit code of a remote command, or says that things differ. No message is printed for it.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as a usage error.
func Usage(err error) error { return usageError{err} }

// Usagef returns a usage error.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// Trouble marks an error of a command whose exit code 1 means something else: its own is 2.
func Trouble(err error) error { return troubleError{err} }

type troubleError struct{ error }

func (t troubleError) Unwrap() error { return t.error }

func IsTrouble(err error) bool {
	var trouble troubleError
	return errors.As(err, &trouble)
}

// WithHint adds a hint to an error, unless it has one.
func WithHint(err error, hint string) error {
	if err == nil || entity.Hint(err) != "" {
		return err
	}
	return entity.WithHint(err, "%s", hint)
}

// AlsoHint adds a line to the hint of an error.
func AlsoHint(err error, format string, args ...any) error {
	hint := fmt.Sprintf(format, args...)
	if first := entity.Hint(err); first != "" {
		hint = first + "\n" + hint
	}
	return entity.WithHint(err, "%s", hint)
}
