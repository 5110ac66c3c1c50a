package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/juju/loggo"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	// LXD is then asked about the controller's container.
	lookPause time.Duration

	// exec replaces this program by another: see execute.
	exec func(replacement) error

	// current is the innermost progress that is shown, or nil.
	current *progress

	// goesOn says what the controller does when a wait is interrupted, "" while the command waits for nothing.
	goesOn string

	// dialled is the directory of the local controller that was dialled last.
	dialled string

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

// inLine escapes the arguments of a format, so that the text stays on one line.
func inLine(args []any) []any {
	shown := slices.Clone(args)
	for i, arg := range shown {
		switch arg := arg.(type) {
		case string:
			shown[i] = display.Line(arg)
		case error:
			shown[i] = display.Line(arg.Error())
		case fmt.Stringer:
			shown[i] = display.Line(arg.String())
		}
	}
	return shown
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

// modelFlag adds the flag -m to a command.
func (s *session) modelFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.model, "model", "m", "", "the model to work in, as MODEL or CONTROLLER:MODEL")
	cmd.Flags().StringVarP(&s.model, "environment", "e", "", "older name of --model")
	cmd.Flags().Lookup("environment").Hidden = true
}

// withModel calls do with a connection to the target model. API names the methods that do calls; *client.Conn has them.
func withModel[API any](ctx context.Context, s *session, do func(API) error) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	err = do(conn.(API))
	if errors.Is(err, entity.NotFound) {
		err = withHint(err, "To see what is in the model: juju status")
	}
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	return err
}

// An output is the destination and format of a command's result.
type output struct {
	format string
	path   string // "" for standard output
	flag   *pflag.Flag
}

// isChosen reports whether the user gave --format.
func (o output) isChosen() bool { return o.flag != nil && o.flag.Changed }

func (o *output) flags(cmd *cobra.Command, format string, formats ...string) {
	if len(formats) > 0 {
		cmd.Flags().StringVar(&o.format, "format", format, "the output format: "+oneOf(formats))
		o.flag = cmd.Flags().Lookup("format")
	}
	cmd.Flags().StringVarP(&o.path, "output", "o", "", "a file to write the output to")
}

// write prints a result.
func (s *session) write(o output, text []byte) error {
	if o.path == "" {
		_, err := s.stdout.Write(text)
		return err
	}
	// The file may be shown on a terminal later.
	if err := os.WriteFile(o.path, []byte(display.Text(string(text))), 0o644); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// writeStyled prints a result with colors, in which text from elsewhere is escaped already.
func (s *session) writeStyled(o output, text []byte) error {
	if o.path == "" {
		_, err := s.stdout.Raw().Write(text)
		return err
	}
	return s.write(o, text)
}

// oneOf writes "a, b or c".
func oneOf(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " or "
		default:
			text += ", "
		}
		text += w
	}
	return text
}
