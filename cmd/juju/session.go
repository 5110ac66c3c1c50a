package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/juju/loggo"
	"golang.org/x/term"

	"juju/cmd/juju/display"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.cmd")

// A session is the environment of a command. Tests make their own.
type session struct {
	stdin          io.Reader
	lines          *bufio.Reader // of stdin, set when the first line is read
	stdout, stderr *display.Writer
	inTerminal     bool // standard input is a terminal
	outTerminal    bool // standard output is one
	errTerminal    bool
	width          func() int // of the terminal
	getenv         func(string) string
	now            func() time.Time

	// connect connects to the target model: see withModel.
	connect func(context.Context) (io.Closer, error)
	// connectController connects to a controller itself: see withController.
	connectController func(context.Context, target) (io.Closer, error)
	// reachBound is how long a controller may take to answer. It must be more than the half
	// minute that a controller waits for its own store.
	reachBound time.Duration
	// lookPause is how long a controller may take to answer until users are told that they wait. So often
	// its cloud is then asked about it.
	lookPause time.Duration

	// exec replaces this program by another: see execute.
	exec func(replacement) error

	// current is the innermost progress that is shown, or nil.
	current *progress

	// goesOn says what the controller does when a wait is interrupted, "" while the command waits for nothing.
	goesOn string

	// lost explains a lost connection to the controller that was dialled last; nil before.
	lost func(error) error

	// The flags of all commands.
	quiet, verbose, debug, showLog bool
	logging                        string // a level for each module, "<root>=INFO;juju.x=DEBUG"
	model                          string // -m, of commands that have it
	controller                     string // -c, of commands that have it
}

func newSession() *session {
	s := &session{
		stdin: os.Stdin, stdout: display.NewWriter(os.Stdout), stderr: display.NewWriter(os.Stderr),
		inTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())), errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		width: func() int {
			for _, f := range []*os.File{os.Stdout, os.Stderr} {
				if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
					return width
				}
			}
			return 80
		},
		getenv: os.Getenv, now: time.Now, reachBound: 40 * time.Second, lookPause: 2 * time.Second,
		exec: execute,
	}
	s.connect = func(ctx context.Context) (io.Closer, error) {
		conn, err := s.dialModel(ctx)
		if err != nil {
			return nil, err // and not a nil *client.Conn
		}
		return conn, nil
	}
	s.connectController = func(ctx context.Context, t target) (io.Closer, error) {
		st, err := s.store()
		if err != nil {
			return nil, err
		}
		conn, err := s.dial(ctx, st, t, "")
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
	return s
}

// begin applies the flags of all commands. It runs before each command.
func (s *session) begin() error {
	s.goesOn = ""
	if s.quiet && s.verbose {
		return usagef("--quiet and --verbose are mutually exclusive")
	}
	level := loggo.WARNING
	switch {
	case s.debug:
		level = loggo.DEBUG
	case s.showLog:
		level = loggo.INFO
	case s.quiet:
		level = loggo.ERROR
	}
	loggo.GetLogger("").SetLogLevel(level)
	if err := loggo.ConfigureLoggers(s.logging); err != nil {
		return usagef("invalid --logging-config: %w", err)
	}
	return nil
}

// waitsFor notes what the controller goes on with if the user interrupts the command now, and how to look at it
// or undo it.
func (s *session) waitsFor(format string, args ...any) {
	s.goesOn = fmt.Sprintf(format, inLine(args)...)
}

// interrupted returns the error of a command that the user has interrupted.
func (s *session) interrupted() error {
	err := errors.New("interrupted")
	if s.goesOn == "" {
		return err
	}
	return entity.WithHint(err, "%s", s.goesOn)
}

// note prints a message to standard error, unless --quiet is given. Text from elsewhere must
// be among the args, where it is escaped.
func (s *session) note(format string, args ...any) {
	if !s.quiet {
		fmt.Fprintf(s.stderr, format+"\n", inLine(args)...)
	}
}

// warn prints warnings.
func (s *session) warn(warnings ...string) {
	for _, w := range warnings {
		s.note("WARNING %s", w)
	}
}

// detail prints a message with --verbose.
func (s *session) detail(format string, args ...any) {
	if s.verbose {
		s.note(format, args...)
	}
}

// store returns the user's store.
func (s *session) store() (*store.Store, error) {
	dir, err := store.DefaultDir(s.getenv)
	if err != nil {
		return nil, err
	}
	return store.New(dir)
}
