package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"
	"golang.org/x/term"

	"juju/apiserver/display"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A Session is the environment of a command.
type Session struct {
	Stdin          io.Reader
	lines          *bufio.Reader // from Stdin, set when the first line is read
	Stdout, Stderr *display.Writer
	InTerminal     bool // standard input is a terminal
	OutTerminal    bool // standard output is one
	ErrTerminal    bool
	Width, Height  func() int // of the terminal
	Getenv         func(string) string
	Now            func() time.Time

	// Connect connects to the target model: see WithModel.
	Connect func(context.Context) (io.Closer, error)
	// ConnectController connects to a controller itself: see WithController.
	ConnectController func(context.Context, Target) (io.Closer, error)
	// AskController is ConnectController without waiting for the controller, starting it or printing anything. It may be
	// called concurrently.
	AskController func(context.Context, Target) (io.Closer, error)
	// ReachTimeout is how long to wait for a controller to answer. It must exceed the 30 seconds that a controller
	// waits for its own store.
	ReachTimeout time.Duration
	// PollInterval is how long a controller may take to answer before users are told that they are waiting, and how
	// often its cloud is queried from then on.
	PollInterval time.Duration

	// Embedded is set in a process that a controller runs for a user who is elsewhere: there are no files, programs and
	// hosts that the user may reach through it, no terminal, and only the commands that need none of these.
	Embedded bool
	// Memory is the user's data, if it is not in files.
	Memory *store.Store

	// Exec execs a program: see execute.
	Exec func(Replacement) error

	// screen guards current, the innermost progress or nil, and what it has drawn.
	screen  sync.Mutex
	current *Progress

	// afterInterrupt tells users what continues if they interrupt the current wait, "" if nothing does.
	afterInterrupt string

	// Lost explains a lost connection to the most recently dialled controller; nil before any.
	Lost func(error) error

	// Flags of all commands.
	Quiet, Verbose, Debug, ShowLog bool
	Logging                        string // a level for each module, "<root>=INFO;juju.x=DEBUG"
	Model                          string // -m, of commands that have it
	Controller                     string // -c, of commands that have it

	plan   planFlags
	warned map[string]bool // what Warn has printed for this command
}

// NewSession returns the session of this process, which can't connect yet.
func NewSession() *Session {
	return &Session{
		Stdin: os.Stdin, Stdout: display.NewWriter(os.Stdout), Stderr: display.NewWriter(os.Stderr),
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())), ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width:  func() int { return size(80, func(width, _ int) int { return width }) },
		Height: func() int { return size(24, func(_, height int) int { return height }) },
		Getenv: os.Getenv, Now: time.Now, ReachTimeout: 40 * time.Second, PollInterval: 2 * time.Second,
		Exec: execute,
	}
}

// size returns a dimension of the terminal, or a default.
func size(standard int, of func(width, height int) int) int {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && of(width, height) > 0 {
			return of(width, height)
		}
	}
	return standard
}

// Begin applies the flags of all commands before a command runs.
func (s *Session) Begin() error {
	s.afterInterrupt, s.warned = "", map[string]bool{}
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

// WaitsFor sets what to tell users who interrupt the command from now on: what continues, and how to see or undo it.
func (s *Session) WaitsFor(format string, args ...any) {
	s.afterInterrupt = fmt.Sprintf(format, InLine(args)...)
}

// Interrupted returns the error of a command that the user has interrupted.
func (s *Session) Interrupted() error {
	err := errors.New("interrupted")
	if s.afterInterrupt == "" {
		return err
	}
	return entity.WithHint(err, "%s", s.afterInterrupt)
}

// Note prints a message to standard error, unless --quiet is given. It escapes args, so external text belongs there.
func (s *Session) Note(format string, args ...any) {
	if !s.Quiet {
		text := s.foldErr(fmt.Sprintf(format, InLine(args)...))
		s.above(func() { fmt.Fprintln(s.Stderr, text) })
	}
}

// Warn prints warnings, each once: what a command asks for several times often causes the same one.
func (s *Session) Warn(warnings ...string) {
	for _, w := range warnings {
		if !s.Quiet && !s.warned[w] {
			if s.warned != nil {
				s.warned[w] = true
			}
			_, text, _ := strings.Cut(s.foldErr("WARNING "+display.Line(w)), " ")
			s.above(func() { fmt.Fprintf(s.Stderr.Raw(), "%s %s\n", s.PaintErr("WARNING", display.Yellow), text) })
		}
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
	if s.Memory != nil {
		return s.Memory, nil
	}
	dir, err := store.DefaultDir(s.Getenv)
	if err != nil {
		return nil, err
	}
	return store.New(dir)
}
