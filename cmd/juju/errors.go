package main

import (
	"errors"
	"fmt"

	"juju/state/entity"
)

// An exitError is the exit code of a command that has run elsewhere. It needs no words.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// A usageError is an invalid command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// withHint adds a hint to an error that has none.
func withHint(err error, hint string) error {
	if err == nil || entity.Hint(err) != "" {
		return err
	}
	return entity.WithHint(err, "%s", hint)
}

// alsoHint adds a line to the hint of an error.
func alsoHint(err error, format string, args ...any) error {
	hint := fmt.Sprintf(format, args...)
	if first := entity.Hint(err); first != "" {
		hint = first + "\n" + hint
	}
	return entity.WithHint(err, "%s", hint)
}
