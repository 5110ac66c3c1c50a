package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/juju/loggo"

	"juju/cmd/juju/display"
	"juju/state/entity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal cancels the context; the second one kills, as usual.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, newSession(), os.Args[1:]))
}

// run runs a command line, reports its error, and returns the exit code.
func run(ctx context.Context, s *session, args []string) int {
	loggo.ResetLogging()
	_ = loggo.RegisterWriter("stderr", loggo.NewSimpleWriter(s.stderr, formatEntry))
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // for nil, cobra takes os.Args
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	var err error
	if name := unknownIn(root, args); name != "" {
		err = unknownCommand(root, name)
	} else {
		err = root.ExecuteContext(ctx)
	}
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		err = s.interrupted()
	}
	return report(s.stderr, s.noRoom(err))
}

// report prints an error and its hint, and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var code exitError
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(w, "ERROR %s\n", display.Message(err.Error(), "  "))
	if hint := entity.Hint(err); hint != "" {
		fmt.Fprintln(w, display.Text(hint))
	}
	if isUsage(err) {
		return 2
	}
	return 1
}

// An exitError is the exit code of a command that has run elsewhere. It needs no words.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// A usageError is an invalid command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// formatEntry formats a log entry of this program, for --debug.
func formatEntry(e loggo.Entry) string {
	return fmt.Sprintf("%s %s %s %s", e.Timestamp.Format("15:04:05.000"), e.Level, display.Line(e.Module),
		display.Message(e.Message, continued))
}

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
