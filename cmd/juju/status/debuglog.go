package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func DebugLogCommand(s *cli.Session) *cobra.Command {
	d := &debugLog{Session: s}
	cmd := &cobra.Command{
		Use:   "debug-log",
		Short: "Show the log of a model",
		Long: `Show the end of a model's log. On a terminal, continue with new lines until interrupted.

Filter lines by agent, module and level. An agent is given by its unit or machine, or as
it appears in the log; a trailing * matches anything. A module includes the modules below
it. A line must match one of the values of each flag that is given. --format json prints
each line as a JSON object. Without new lines to wait for, it is an error if the log has
none of what --include names and the model does not have that either.`,
		Example: `  juju debug-log
  juju debug-log --replay --no-tail -l WARNING
  juju debug-log -n 100 -i web/0 -i 'store*'
  juju debug-log -x machine-0 --include-module unit
  juju debug-log --format json --no-tail`,
		Annotations: cli.SeeAlso("status", "show-status-log", "explain"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context(), cmd.Flags().Changed("lines")) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&d.query.IncludeEntity, "include", "i", nil, "show the lines of these `agents`")
	f.StringArrayVarP(&d.query.ExcludeEntity, "exclude", "x", nil, "hide the lines of these `agents`")
	f.StringArrayVar(&d.query.IncludeModule, "include-module", nil, "show the lines of these `modules`")
	f.StringArrayVar(&d.query.ExcludeModule, "exclude-module", nil, "hide the lines of these `modules`")
	f.StringVarP(&d.query.Level, "level", "l", "", "the lowest level to show: "+cli.OneOf(logLevels))
	f.IntVarP(&d.query.Backlog, "lines", "n", 10, "how many existing lines to show first")
	f.IntVar(&d.query.Limit, "limit", 0, "exit after this many lines; 0 means no limit")
	f.BoolVar(&d.query.Replay, "replay", false, "start with the oldest line")
	f.BoolVarP(&d.noTail, "no-tail", "T", false, "exit instead of waiting for more lines")
	f.BoolVar(&d.tail, "tail", false, "wait for more lines, even if the output is not a terminal")
	f.BoolVar(&d.retry, "retry", false, "reconnect when the connection is lost")
	f.BoolVar(&d.utc, "utc", false, "show times in UTC")
	f.BoolVar(&d.date, "date", false, "also show dates")
	f.BoolVar(&d.ms, "ms", false, "also show milliseconds")
	d.colors.Flags(cmd)
	cli.FormatFlag(cmd, &d.format, "text", "text", "json")
	f.BoolVar(&d.location, "location", false, "also show source files and lines")
	s.ModelFlag(cmd)
	return cmd
}

var logLevels = []string{"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

type debugLogAPI interface {
	wait.StatusAPI
	cli.LeaderAPI
	DebugLog(ctx context.Context, q client.LogQuery, line func(debuglog.Message) error) error
}

type debugLog struct {
	*cli.Session
	query                   client.LogQuery
	noTail, tail, retry     bool
	utc, date, ms, location bool
	colors                  cli.Colors
	paints                  bool // with colors
	format                  string
	noted                   bool // noteAbsent has run
	absent                  int  // how many names in --include are not in the model
}

// retryPause is the delay before reconnecting.
const retryPause = time.Second

// run shows the log; counted says that the user has given --lines.
func (d *debugLog) run(ctx context.Context, counted bool) error {
	if d.tail && d.noTail {
		return cli.Usagef("setting --tail and --no-tail not valid")
	}
	var err error
	if d.paints, err = d.colors.Used(d.Session, ""); err != nil {
		return err
	}
	if d.format != "text" && d.format != "json" {
		return cli.Usage(entity.WithHint(fmt.Errorf("unknown format %q", d.format), "Valid formats: text, json"))
	}
	if d.query.Backlog < 0 || d.query.Limit < 0 {
		return cli.Usagef("--lines and --limit must not be negative")
	}
	if counted && d.query.Replay && d.query.Backlog > 0 {
		return cli.Usagef("--replay shows all existing lines, and --lines the last ones; for the oldest %d: --replay --limit %[1]d", d.query.Backlog)
	}
	if !counted {
		d.query.Backlog = max(d.query.Backlog, d.query.Limit)
	}
	if level := d.query.Level; level != "" && !isLevel(level) {
		return cli.Usagef("level value %q is not one of %q", level, logLevels)
	}
	d.query.NoTail = d.noTail || !d.tail && (!d.OutTerminal || d.query.Limit > 0)
	for {
		err := cli.WithModel(ctx, d.Session, func(api debugLogAPI) error { return d.show(ctx, api) })
		if ctx.Err() != nil && !d.query.NoTail {
			return nil // the normal way to end it
		}
		if err == nil || !d.retry || cli.IsUsage(err) || isRefusal(err) {
			return err
		}
		d.Note("%v; reconnecting", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryPause):
		}
		// Do not repeat lines.
		d.query.Replay, d.query.Backlog = false, 0
	}
}

// isRefusal reports whether err would recur after reconnecting: the login, the model or the query is invalid.
func isRefusal(err error) bool {
	for _, kind := range []entity.Kind{entity.Unauthorized, entity.NotFound, entity.Invalid} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func isLevel(word string) bool {
	for _, level := range logLevels {
		if strings.EqualFold(level, word) {
			return true
		}
	}
	return false
}

func (d *debugLog) show(ctx context.Context, api debugLogAPI) error {
	for _, names := range []*[]string{&d.query.IncludeEntity, &d.query.ExcludeEntity} {
		var err error
		if *names, err = cli.Leaders(ctx, api, *names); err != nil {
			return err
		}
	}
	if err := d.noteAbsent(ctx, api); err != nil {
		return err
	}
	lines := 0
	err := api.DebugLog(ctx, d.query, func(m debuglog.Message) error {
		lines++
		if d.format == "json" {
			text, err := display.JSON(loggedLine{m.Timestamp.UTC().Format(time.RFC3339Nano), m.Entity, m.Severity, m.Module,
				m.Location, m.Message})
			if err != nil {
				return err
			}
			_, err = d.Stdout.Write(text)
			return err
		}
		_, err := fmt.Fprintln(d.Stdout.Raw(), d.line(m))
		return err
	})
	if err == nil && d.query.NoTail && lines == 0 && d.absent == len(d.query.IncludeEntity) && d.absent > 0 {
		return entity.Errorf(entity.NotFound, "the log has no lines of %s", strings.Join(d.query.IncludeEntity, ", "))
	}
	return err
}

// A loggedLine is the JSON form of an entry of the log, with Juju's keys.
type loggedLine struct {
	Timestamp string `json:"timestamp"`
	Entity    string `json:"entity"`
	Level     string `json:"level"`
	Module    string `json:"module"`
	Location  string `json:"location"`
	Message   string `json:"message"`
}

// noteAbsent reports, once, which entities in --include and --exclude are not in the model. That alone is not an error, since
// the log also has lines of removed entities.
func (d *debugLog) noteAbsent(ctx context.Context, api wait.StatusAPI) error {
	patterns := slices.Concat(d.query.IncludeEntity, d.query.ExcludeEntity)
	if len(patterns) == 0 || d.noted {
		return nil
	}
	m, err := api.Status(ctx)
	if err != nil {
		return err
	}
	d.noted = true
	for i, pattern := range patterns {
		found := slices.ContainsFunc(wait.Entities(m), func(t wait.Entity) bool {
			switch t.Kind {
			case "unit":
				return debuglog.MatchTag(pattern, entity.UnitTag(t.Name).String())
			case "machine":
				return debuglog.MatchTag(pattern, entity.MachineTag(t.Name).String())
			}
			return false
		})
		if !found && i < len(d.query.IncludeEntity) && !strings.HasSuffix(pattern, "*") {
			d.absent++
		}
		if !found {
			d.Note("Model %[2]q has no unit or machine %[1]q. To see what is in the model: juju status", pattern, m.Model.Name)
		}
	}
	return nil
}

// line formats an entry of the log.
func (d *debugLog) line(m debuglog.Message) string {
	layout := "15:04:05"
	if d.ms {
		layout += ".000"
	}
	if d.date {
		layout = "2006-01-02 " + layout
	}
	t := m.Timestamp.Local()
	if d.utc {
		t = m.Timestamp.UTC()
	}
	location := ""
	if d.location {
		location = m.Location + " "
	}
	paint := func(text, color string) string {
		if text = display.Line(text); d.paints {
			return display.Paint(text, color)
		}
		return text
	}
	return fmt.Sprintf("%s: %s %s %s%s", paint(m.Entity, display.Cyan), t.Format(layout),
		paint(m.Severity, display.LevelColor(m.Severity)),
		display.Line(m.Module+" "+location), display.Message(m.Message, display.Continued))
}
