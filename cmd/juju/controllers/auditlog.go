package controllers

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type auditLogAPI interface {
	AuditLog(ctx context.Context, q client.AuditQuery) ([]entity.AuditEntry, error)
}

func AuditLogCommand(s *cli.Session) *cobra.Command {
	c := &auditLog{Session: s}
	cmd := &cobra.Command{
		Use:   "audit-log",
		Short: "Show who changed what",
		Long: `Show what users changed through a controller's API, oldest first: who, from where, when,
which method with which arguments, and whether it succeeded. Calls that were refused or
failed are listed too; calls that only read are not. A batch shows the errors of the parts
that failed. Passwords, keys and secret settings are left out of the arguments.

All controllers that share a store keep one log, of limited size. Only superusers see it.
--since and --until take a date, a time, or how long ago: 2026-11-26, 2026-11-26T10:00:00Z
or 36h.`,
		Example: `  juju audit-log
  juju audit-log --user bob --since 24h
  juju audit-log --model staging --limit 1000 --format json`,
		Annotations: cli.SeeAlso("debug-log", "show-status-log", "users"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntVarP(&c.query.Limit, "limit", "n", 50, "how many of the newest calls to show")
	f.StringVarP(&c.query.Model, "model", "m", "",
		"show calls about this model, which may be gone: NAME, OWNER/NAME or UUID")
	f.StringVar(&c.query.User, "user", "", "show this user's calls")
	f.StringVar(&c.since, "since", "", "show calls since this time")
	f.StringVar(&c.until, "until", "", "show calls before this time")
	f.BoolVar(&c.utc, "utc", false, "show times in UTC")
	c.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}

type auditLog struct {
	*cli.Session
	query        client.AuditQuery
	since, until string
	utc          bool
	output       cli.Output
}

// A shownCall is the YAML and JSON form of an entry.
type shownCall struct {
	Time   string       `yaml:"time" json:"time"`
	User   string       `yaml:"user" json:"user"`
	From   string       `yaml:"from" json:"from"`
	Models []shownModel `yaml:"models,omitempty" json:"models,omitempty"`
	Call   string       `yaml:"call" json:"call"`
	Facade int          `yaml:"facade-version,omitempty" json:"facade-version,omitempty"`
	Args   any          `yaml:"arguments,omitempty" json:"arguments,omitempty"`
	Result string       `yaml:"result" json:"result"` // "ok" or "error"
	Error  string       `yaml:"error,omitempty" json:"error,omitempty"`
	Code   string       `yaml:"error-code,omitempty" json:"error-code,omitempty"`
}

type shownModel struct {
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	UUID string `yaml:"uuid,omitempty" json:"uuid,omitempty"`
}

func (c *auditLog) run(ctx context.Context) error {
	if err := cli.CheckListFormat(c.output.Format); err != nil {
		return err
	}
	if c.query.Limit < 1 {
		return cli.Usagef("--limit must be a positive integer")
	}
	var err error
	if c.query.Since, err = c.time("since", c.since); err != nil {
		return err
	}
	if c.query.Until, err = c.time("until", c.until); err != nil {
		return err
	}
	return cli.WithController(ctx, c.Session, func(_ cli.Target, api auditLogAPI) error {
		entries, err := api.AuditLog(ctx, c.query)
		if err != nil {
			return err
		}
		return c.show(entries)
	})
}

func (c *auditLog) location() *time.Location {
	if c.utc {
		return time.UTC
	}
	return time.Local
}

// time parses the value of a flag.
func (c *auditLog) time(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return c.Now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, c.location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Usagef("--%s: %q is not a time such as 2026-11-26, 2026-11-26T10:00:00Z or 36h", flag, text)
}

func (c *auditLog) show(entries []entity.AuditEntry) error {
	if len(entries) == 0 && c.output.Format == "tabular" {
		c.Note("no calls found")
		return nil
	}
	shown := make([]shownCall, 0, len(entries))
	rows := [][]string{{"Time", "User", "From", "Model", "Call", "Result", "Arguments"}}
	for _, e := range entries {
		one := shownCall{Time: e.Time.In(c.location()).Format(time.RFC3339), User: e.User, From: e.From, Call: e.Call,
			Facade: e.Version, Result: "ok", Error: e.Error, Code: e.Code}
		if e.Error != "" {
			one.Result = "error"
		}
		if len(e.Args) > 0 {
			if err := json.Unmarshal(e.Args, &one.Args); err != nil {
				one.Args = string(e.Args)
			}
		}
		models := "-"
		for i, m := range e.Models {
			name := m.UUID
			if m.Name != "" {
				name = m.Owner + "/" + m.Name
			}
			if one.Models = append(one.Models, shownModel{name, m.UUID}); i == 0 {
				models = name
			} else {
				models += "," + name
			}
		}
		shown = append(shown, one)
		result := one.Result
		if e.Error != "" {
			result = entity.Cut(e.Error, shownError)
		}
		rows = append(rows, []string{one.Time, e.User, e.From, models, e.Call, result, entity.Cut(string(e.Args), shownArgs)})
	}
	return c.WriteList(c.output, shown, rows)
}

// The limits of a call's error and arguments in a table, in bytes.
const (
	shownError = 80
	shownArgs  = 120
)
