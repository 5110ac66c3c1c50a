package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/juju/loggo"
	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/state/entity"
	"juju/state/entity/flagerror"
)

// NewRoot returns the command that all others are added to, with the flags that they share.
func NewRoot(s *Session) *cobra.Command {
	root := &cobra.Command{
		Use:           "juju",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			FormatOfFile(cmd)
			return WithHelp(cmd, s.Begin())
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return WithHelp(cmd, FlagError(err)) })
	f := root.PersistentFlags()
	f.BoolVarP(&s.Quiet, "quiet", "q", false, "print only results and errors")
	f.BoolVarP(&s.Verbose, "verbose", "v", false, "print more")
	f.BoolP("help", "h", false, "show the help of the command")
	f.BoolVar(&s.Debug, "debug", false, "log to standard error in detail")
	f.BoolVar(&s.ShowLog, "show-log", false, "log to standard error in less detail than --debug")
	f.StringVar(&s.Logging, "logging-config", "", "the log level of each module, as MODULE=LEVEL;MODULE=LEVEL")
	return root
}

// FlagError turns what cobra says of a command line's flags into a usage error.
func FlagError(err error) error { return Usage(flagerror.Plain(err)) }

// HintHelp makes the usage errors of a command point to its help.
func HintHelp(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return WithHelp(cmd, run(cmd, args)) }
	}
}

// BeginLog has this program's log go to standard error, in the way that --debug shows it.
func (s *Session) BeginLog() {
	loggo.ResetLogging()
	_ = loggo.RegisterWriter("stderr", loggo.NewSimpleWriter(s.LogWriter(), s.formatEntry))
}

// formatEntry formats a log entry of this program.
func (s *Session) formatEntry(e loggo.Entry) string {
	level := e.Level.String()
	return fmt.Sprintf("%s %s %s %s", e.Timestamp.Format("15:04:05.000"), s.PaintErr(level, display.LevelColor(level)),
		display.Line(e.Module), display.Message(e.Message, display.Continued))
}

// Report prints the error of a command and its hint, and returns the exit code. ctx is that of the command, which has ended
// if the user has interrupted it.
func (s *Session) Report(ctx context.Context, err error) int {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		err = s.Interrupted()
	}
	if s.Lost != nil {
		err = s.Lost(err)
	}
	if err == nil {
		return 0
	}
	var code ExitError
	if errors.As(err, &code) {
		return int(code)
	}
	_, text, _ := strings.Cut(s.foldErr("ERROR "+display.Message(err.Error(), "  ")), " ")
	fmt.Fprintf(s.Stderr.Raw(), "%s %s\n", s.PaintErr("ERROR", display.Red), text)
	if hint := entity.Hint(err); hint != "" {
		fmt.Fprintln(s.Stderr, s.foldErr(display.Text(hint)))
	}
	if IsUsage(err) || IsTrouble(err) {
		return 2
	}
	return 1
}
