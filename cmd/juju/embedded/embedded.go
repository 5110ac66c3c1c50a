// Package embedded runs a command line of juju in a process that the controller starts for a user who is elsewhere: on
// Juju's dashboard, for example. See apiserver/commandline.
package embedded

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/commandline"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/commands"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// Run runs the command line that the controller asks for on standard input, and returns the exit code.
func Run(ctx context.Context, stdin io.Reader) (code int, err error) {
	r, dial, err := commandline.Receive(stdin)
	if err != nil {
		return 1, err
	}
	s := newSession(r, dial)
	args, err := split(r.Text)
	if err != nil {
		return 2, err
	}
	if len(args) > 0 && args[0] == "juju" {
		args = args[1:] // as it is written in a terminal
	}
	if r.Plan {
		if args, err = planned(args); err != nil {
			return 2, err
		}
	}
	return commands.Run(ctx, s, args), nil
}

// reachTimeout limits how long the controller, which runs this, may take to log a command in.
const reachTimeout = time.Minute

// newSession returns the session of a user of whom this process knows only what the request says.
func newSession(r commandline.Request, dial func(context.Context) (net.Conn, error)) *cli.Session {
	name := r.ControllerName
	s := &cli.Session{
		Embedded: true,
		Stdin:    strings.NewReader(""), Stdout: display.NewWriter(os.Stdout), Stderr: display.NewWriter(os.Stderr),
		Width:  func() int { return 80 },
		Getenv: func(string) string { return "" }, Now: time.Now, ReachTimeout: reachTimeout,
		Exec: func(cli.Replacement) error { return errors.New("the controller runs no programs for its users") },
		Memory: store.Memory(&store.Contents{Current: name, Controllers: map[string]*store.Controller{name: {
			UUID: r.Controller, Addresses: r.Addresses, CACert: r.CACert, Cloud: r.Cloud, CloudName: r.CloudName, User: r.User, Password: r.Password,
			Model: r.Model, Models: map[string]string{r.Model: r.UUID},
		}}}),
	}
	connect := func(ctx context.Context, uuid string) (*client.Conn, error) {
		return client.Dial(ctx, client.Info{Dial: dial, Model: uuid, Tag: entity.UserTag(r.User), Password: r.Password})
	}
	s.ConnectController = func(ctx context.Context, _ cli.Target) (io.Closer, error) {
		conn, err := connect(ctx, "")
		if err != nil {
			return nil, err // not a nil *client.Conn
		}
		return conn, nil
	}
	s.Connect = func(ctx context.Context) (io.Closer, error) {
		_, t, err := s.ReadModelTarget()
		if err != nil {
			return nil, err
		}
		uuid, known := t.Controller.Models[t.Model]
		if !known {
			err := cli.WithController(ctx, s, func(_ cli.Target, api cli.ModelsAPI) error {
				m, err := s.FindModel(ctx, t, api, t.Model)
				uuid = m.UUID
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		conn, err := connect(ctx, uuid)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
	return s
}

// planned returns the arguments of the command that plans what another one does. That has its name first, because after an
// option --dry-run could be the value of that, and does not take --dry-run back.
func planned(args []string) ([]string, error) {
	if len(args) == 0 || args[0] == "" || strings.HasPrefix(args[0], "-") {
		return nil, errors.New("a command line that is planned begins with the name of a command")
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--dry-run=") }) {
		return nil, errors.New("a command line that is planned has no --dry-run")
	}
	return slices.Insert(args, 1, "--dry-run"), nil
}

// split splits a command line into words, as a shell does with one that has no special characters but quotes and
// backslashes. All others stand for themselves: no shell reads the line.
func split(line string) (words []string, err error) {
	var word strings.Builder
	begun, escaped, quote := false, false, rune(0)
	for _, c := range line {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			begun, quote = true, c
		case strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("the command line ends within a quotation")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
