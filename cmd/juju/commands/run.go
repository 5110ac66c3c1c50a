package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/juju/loggo"
	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/connect"
	"juju/state/entity"
)

// NewSession returns this process's session, which can connect to controllers.
func NewSession() *cli.Session {
	s := cli.NewSession()
	s.Connect = func(ctx context.Context) (io.Closer, error) {
		conn, err := connect.Model(ctx, s)
		if err != nil {
			return nil, err // not a nil *client.Conn
		}
		return conn, nil
	}
	s.ConnectController = func(ctx context.Context, t cli.Target) (io.Closer, error) {
		st, err := s.Store()
		if err != nil {
			return nil, err
		}
		conn, err := connect.Dial(ctx, s, st, t, "")
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
	s.AskController = func(ctx context.Context, t cli.Target) (io.Closer, error) {
		conn, err := connect.Once(ctx, t)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
	return s
}

// Run runs a command line, reports its error, and returns the exit code.
func Run(ctx context.Context, s *cli.Session, args []string) int {
	loggo.ResetLogging()
	_ = loggo.RegisterWriter("stderr", loggo.NewSimpleWriter(s.LogWriter(), formatEntry(s)))
	root := New(s)
	var removed []string
	if s.Embedded {
		removed = keepEmbeddable(root)
	}
	root.SetArgs(append([]string{}, args...)) // for nil, cobra takes os.Args
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	var err error
	unknown := unknownIn(root, args)
	if s.Embedded && len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		err = notEmbedded(args[0]) // cobra adds it when it executes
	} else if s.Embedded && unknown != nil {
		err = unknownCommand(root, unknown)
		if slices.Contains(removed, unknown[0]) {
			err = notEmbedded(unknown[0])
		}
	} else if unknown != nil {
		plugin := false
		if plugin, err = runPlugin(s, unknown[0], unknown[1:]); !plugin {
			err = unknownCommand(root, unknown)
		}
	} else {
		err = execute(ctx, s, root, args)
	}
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		err = s.Interrupted()
	}
	if s.Lost != nil {
		err = s.Lost(err)
	}
	return report(s, err)
}

// report prints an error and its hint, and returns the exit code.
func report(s *cli.Session, err error) int {
	if err == nil {
		return 0
	}
	var code cli.ExitError
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(s.Stderr.Raw(), "%s %s\n", s.PaintErr("ERROR", display.Red), display.Message(err.Error(), "  "))
	if hint := entity.Hint(err); hint != "" {
		fmt.Fprintln(s.Stderr, display.Text(hint))
	}
	if cli.IsUsage(err) || cli.IsTrouble(err) {
		return 2
	}
	return 1
}

// formatEntry formats log entries of this program, for --debug.
func formatEntry(s *cli.Session) func(loggo.Entry) string {
	return func(e loggo.Entry) string {
		level := e.Level.String()
		return fmt.Sprintf("%s %s %s %s", e.Timestamp.Format("15:04:05.000"), s.PaintErr(level, display.LevelColor(level)),
			display.Line(e.Module), display.Message(e.Message, display.Continued))
	}
}
