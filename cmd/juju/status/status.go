package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/statusfmt"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/storage"
	"juju/cmd/juju/wait"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

func StatusCommand(s *cli.Session) *cobra.Command {
	c := &status{Session: s}
	cmd := &cobra.Command{
		Use:     "status [PATTERN...]",
		Aliases: []string{"stat", "show-status"},
		Short:   "Show the services, units and machines of a model",
		Long: `Show the services of a model with their units and machines, and the status of each. With
PATTERNs, show only what matches one of them. A pattern is the name of a service or unit,
in which * matches anything; the number of a machine; a status, such as error; "exposed"
or "not exposed"; a port, such as 80/tcp; or an address. SERVICE/leader is the service's
leader. The exit code is 1 if a PATTERN matches nothing.

For each unit, Workload is the status that its charm reports, and Agent is what juju is
doing there. (dying) marks entities that are being destroyed.

Other formats are yaml and json, for programs; oneline (or short, line), with one line per
unit; and summary, with counts.`,
		Example: `  juju status
  juju status web 'store*'
  juju status error
  juju status --format yaml
  juju status --watch 2s --relations`,
		Annotations: cli.SeeAlso("explain", "wait-for", "show-status-log", "debug-log"),
		RunE:        func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	c.output.Flags(cmd, "tabular", statusfmt.Formats...)
	f.BoolVar(&c.utc, "utc", false, "show times in UTC")
	f.BoolVar(&c.relations, "relations", false, "also show relations, which yaml and json always do")
	f.BoolVar(&c.relations, "integrations", false, "")
	f.BoolVar(&c.storage, "storage", false, "also show storage, which yaml and json always do")
	f.Lookup("integrations").Hidden = true
	c.colors.Flags(cmd)
	f.DurationVar(&c.watch, "watch", 0, "repeat at this interval, until interrupted")
	f.IntVar(&c.retries, "retry-count", 3, "how often to retry if the controller does not respond")
	f.DurationVar(&c.retryDelay, "retry-delay", 100*time.Millisecond, "how long to wait before each retry")
	s.ModelFlag(cmd)
	return cmd
}

type modelStatusAPI interface {
	wait.StatusAPI
	storage.ListAPI
}

type status struct {
	*cli.Session
	output         cli.Output
	utc, relations bool
	storage        bool
	colors         cli.Colors
	watch          time.Duration
	retries        int
	retryDelay     time.Duration
	drawn          bool // with --watch on a terminal: there is an earlier status
}

func (c *status) run(ctx context.Context, patterns []string) error {
	format, err := statusfmt.Find(c.output.Format)
	if err != nil {
		return cli.Usage(err)
	}
	switch {
	case c.watch < 0 || c.watch > 0 && c.watch < 100*time.Millisecond:
		return cli.Usagef("cannot watch at an interval of %v: the shortest is 100ms", c.watch)
	case c.watch > 0 && c.output.Path != "":
		return cli.Usagef("cannot specify --output with --watch")
	case c.retries < 0:
		return cli.Usagef("--retry-count must be a positive integer")
	case c.retryDelay < 0:
		return cli.Usagef("--retry-delay must not be negative")
	}
	tabular, whole := c.output.Format == "tabular", c.output.Format == "yaml" || c.output.Format == "json"
	for flag, given := range map[string]bool{"storage": c.storage, "relations": c.relations} {
		if given && !tabular && !whole {
			c.Note("ignoring --%s: the format %s does not show that", flag, c.output.Format)
		}
	}
	c.storage = whole || tabular && c.storage
	options := statusfmt.Options{Location: time.Local, Relations: c.relations}
	if options.Color, err = c.colors.Used(c.Session, c.output.Path); err != nil {
		return err
	}
	if c.utc {
		options.Location = time.UTC
	}
	if options.Controller, err = c.controllerName(); err != nil {
		return err
	}
	if c.draws() && tabular {
		options.Changes = statusfmt.NewChanges()
	}
	for {
		if c.OutTerminal && c.output.Path == "" {
			options.Width = c.Width()
		}
		m, stored, err := c.read(ctx, patterns)
		options.Storage = stored
		if err == nil {
			err = c.show(format, m, options)
		}
		if err != nil && ctx.Err() == nil || c.watch == 0 {
			return err
		}
		if backoff.Sleep(ctx, c.watch) != nil {
			return c.leave()
		}
	}
}

// controllerName returns the user's name for the controller.
func (c *status) controllerName() (string, error) {
	_, t, err := c.ReadModelTarget()
	return t.Name, err
}

// read reads the status, and retries if the controller does not respond, but not if it cannot be reached, since Dial
// already retries that. With patterns, it returns the storage of the units that match.
func (c *status) read(ctx context.Context, patterns []string) (m *entity.ModelStatus, stored []entity.StorageStatus, err error) {
	for try := 0; ; try++ {
		reached := false
		err = cli.WithModel(ctx, c.Session, func(api modelStatusAPI) error {
			reached = true
			if m, err = api.Status(ctx, patterns...); err == nil && c.storage {
				stored, err = api.Storage(ctx)
			}
			return err
		})
		if err == nil && len(patterns) > 0 {
			stored = slices.DeleteFunc(slices.Clone(stored), func(s entity.StorageStatus) bool {
				return !slices.ContainsFunc(m.AllUnits(), func(u entity.UnitStatus) bool { return u.Name == s.Unit })
			})
		}
		if err == nil || !reached || !errors.Is(err, entity.Unavailable) || try >= c.retries {
			return m, stored, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(c.retryDelay):
		}
	}
}

func (c *status) show(format statusfmt.Formatter, m *entity.ModelStatus, o statusfmt.Options) error {
	if len(m.Unmatched) > 0 && c.watch == 0 && statusfmt.IsEmpty(m) {
		return noMatch(m)
	}
	var text bytes.Buffer
	if o.Changes != nil {
		o.Changes.Next(c.Now())
	}
	if err := format(&text, m, o); err != nil {
		return err
	}
	if c.draws() {
		return c.draw(text.String(), m, o)
	}
	write := c.Write
	if o.Color {
		write = c.WriteStyled
	}
	if err := write(c.output, text.Bytes()); err != nil {
		return err
	}
	if c.watch > 0 {
		fmt.Fprintln(c.Stdout)
	}
	switch {
	case len(m.Unmatched) > 0 && c.watch > 0: // there may be something later
		c.Note("\n%v", noMatch(m))
	case len(m.Unmatched) > 0:
		return noMatch(m)
	case statusfmt.IsEmpty(m) && c.output.Format == "tabular":
		c.Note("\n%s", empty(m, o))
	}
	return nil
}

// empty says that a model is empty.
func empty(m *entity.ModelStatus, o statusfmt.Options) string {
	return fmt.Sprintf("Model %q is empty.", o.Controller+":"+m.Model.Name)
}

// noMatch is the error for patterns that match nothing.
func noMatch(m *entity.ModelStatus) error {
	return entity.WithHint(entity.Errorf(entity.NotFound, "nothing in model %q matches %s", m.Model.Name,
		strings.Join(m.Unmatched, ", ")),
		"To see what is in the model: juju status")
}
