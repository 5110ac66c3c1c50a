package commands

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/connect"
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
	s.BeginLog()
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
	return s.Report(ctx, err)
}
