package cli

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

// A Session is the environment of a command. Tests make their own.
type Session struct {
	Stdin          io.Reader
	lines          *bufio.Reader // of stdin, set when the first line is read
	Stdout, Stderr *display.Writer
	InTerminal     bool // standard input is a terminal
	OutTerminal    bool // standard output is one
	ErrTerminal    bool
	Width          func() int // of the terminal
	Getenv         func(string) string
	Now            func() time.Time

	// Connect connects to the target model: see withModel.
	Connect func(context.Context) (io.Closer, error)
	// ConnectController connects to a controller itself: see withController.
	ConnectController func(context.Context, Target) (io.Closer, error)
	// ReachBound is how long a controller may take to answer. It must be more than the half
	// minute that a controller waits for its own store.
	ReachBound time.Duration
	// LookPause is how long a controller may take to answer until users are told that they wait. So often
	// its cloud is then asked about it.
	LookPause time.Duration

	// Exec replaces this program by another: see execute.
	Exec func(Replacement) error

	// current is the innermost progress that is shown, or nil.
	current *Progress

	// goesOn says what the controller does when a wait is interrupted, "" while the command waits for nothing.
	goesOn string

	// Lost explains a lost connection to the controller that was dialled last; nil before.
	Lost func(error) error

	// The flags of all commands.
	Quiet, Verbose, Debug, ShowLog bool
	Logging                        string // a level for each module, "<root>=INFO;juju.x=DEBUG"
	Model                          string // -m, of commands that have it
	Controller                     string // -c, of commands that have it
}

// NewSession returns a session of this process, which can't connect yet.
func NewSession() *Session {
	return &Session{
		Stdin: os.Stdin, Stdout: display.NewWriter(os.Stdout), Stderr: display.NewWriter(os.Stderr),
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())), ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width: func() int {
			for _, f := range []*os.File{os.Stdout, os.Stderr} {
				if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
					return width
				}
			}
			return 80
		},
		Getenv: os.Getenv, Now: time.Now, ReachBound: 40 * time.Second, LookPause: 2 * time.Second,
		Exec: execute,
	}
}

// Begin applies the flags of all commands. It runs before each command.
func (s *Session) Begin() error {
	s.goesOn = ""
	if s.Quiet && s.Verbose {
		return Usagef("--quiet and --verbose are mutually exclusive")
	}
	level := loggo.WARNING
	switch {
	case s.Debug:
		level = loggo.DEBUG
	case s.ShowLog:
		level = loggo.INFO
	case s.Quiet:
		level = loggo.ERROR
	}
	loggo.GetLogger("").SetLogLevel(level)
	if err := loggo.ConfigureLoggers(s.Logging); err != nil {
		return Usagef("invalid --logging-config: %w", err)
	}
	return nil
}

// WaitsFor notes what the controller goes on with if the user interrupts the command now, and how to look at it
// or undo it.
func (s *Session) WaitsFor(format string, args ...any) {
	s.goesOn = fmt.Sprintf(format, InLine(args)...)
}

// Interrupted returns the error of a command that the user has interrupted.
func (s *Session) Interrupted() error {
	err := errors.New("interrupted")
	if s.goesOn == "" {
		return err
	}
	return entity.WithHint(err, "%s", s.goesOn)
}

// Note prints a message to standard error, unless --quiet is given. Text from elsewhere must
// be among the args, where it is escaped.
func (s *Session) Note(format string, args ...any) {
	if !s.Quiet {
		fmt.Fprintf(s.Stderr, format+"\n", InLine(args)...)
	}
}

// Warn prints warnings.
func (s *Session) Warn(warnings ...string) {
	for _, w := range warnings {
		s.Note("WARNING %s", w)
	}
}

// Detail prints a message with --verbose.
func (s *Session) Detail(format string, args ...any) {
	if s.Verbose {
		s.Note(format, args...)
	}
}

// Store returns the user's store.
func (s *Session) Store() (*store.Store, error) {
	dir, err := store.DefaultDir(s.Getenv)
	if err != nil {
		return nil, err
	}
	return store.New(dir)
}
