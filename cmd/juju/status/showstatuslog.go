package status

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/apiserver/statusfmt"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ShowStatusLogCommand(s *cli.Session) *cobra.Command {
	c := &showStatusLog{Session: s}
	cmd := &cobra.Command{
		Use:     "show-status-log UNIT|MACHINE|SERVICE",
		Aliases: []string{"status-history"},
		Short:   "Show the past statuses of a unit, machine or service",
		Long: `Show past statuses, oldest first. A model keeps a limited number of statuses in total for
all its entities, including removed ones.

--type selects the statuses: for a unit, those of its agent (juju-unit), of its charm
(workload) or both (unit); for a machine, those of its agent (juju-machine), or also those
from the cloud (machine). The statuses of a service (application) are those that its
leader has set; if there are none, juju status shows the worst status of the units, which
is not recorded. For a service of another model, use --type saas. A model's status follows
from its life, and has no history.

SERVICE/leader is the service's leader.`,
		Example: `  juju show-status-log web/0
  juju show-status-log web/0 --type workload -n 100
  juju show-status-log 3 --days 2
  juju show-status-log web
  juju show-status-log web/0 --from-date 2026-11-21 --utc`,
		Annotations: cli.SeeAlso("status", "debug-log"),
		Args:        cli.AtMost(1),
		RunE:        func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.kind, "type", "", "which statuses: unit, juju-unit, workload, machine, juju-machine, application or saas")
	f.IntVarP(&c.size, "lines", "n", 20, "how many of the newest statuses to show")
	f.IntVar(&c.days, "days", 0, "show the statuses of this many days, instead of --lines")
	f.StringVar(&c.from, "from-date", "", "show the statuses since this date, as in 2026-11-21, instead of --lines")
	f.BoolVar(&c.utc, "utc", false, "show times in UTC")
	f.BoolVar(&c.updates, "include-status-updates", false, "include the statuses of update-status hooks")
	c.output.Flags(cmd, "tabular", "tabular", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

type statusHistoryAPI interface {
	cli.LeaderAPI
	StatusHistory(ctx context.Context, kind entity.HistoryKind, of entity.Tag, q client.HistoryQuery) (
		[]entity.PastStatus, error)
}

type showStatusLog struct {
	*cli.Session
	kind, from   string
	size, days   int
	utc, updates bool
	output       cli.Output
}

// updateStatus is the agent's message while it runs the update-status hook, every few minutes.
const updateStatus = "running update-status hook"

func (c *showStatusLog) run(cmd *cobra.Command, args []string) error {
	tag, kind, err := c.subject(args)
	if err != nil {
		return err
	}
	query, err := c.query(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(c.output.Format, "tabular"); err != nil {
		return err
	}
	ctx := cmd.Context()
	return cli.WithModel(ctx, c.Session, func(api statusHistoryAPI) error {
		if tag.ID, err = cli.Leading(ctx, api, tag.ID); err != nil {
			return err
		}
		past, err := api.StatusHistory(ctx, kind, tag, query)
		if err != nil {
			return err
		}
		return c.show(past)
	})
}

// subject returns the unit, machine or service, and which of its statuses to show.
func (c *showStatusLog) subject(args []string) (tag entity.Tag, kind entity.HistoryKind, err error) {
	switch {
	case c.kind == "model":
		return tag, kind, cli.WithHint(cli.Usagef("a model has no status history: its status follows from its life and is not recorded"),
			"To see the status: juju show-model")
	case len(args) == 0:
		return tag, kind, cli.Usagef("no unit, machine or service specified")
	case cli.IsUnitTarget(args[0]):
		tag, kind = entity.UnitTag(args[0]), entity.HistoryUnit
	case entity.IsValidMachine(args[0]):
		tag, kind = entity.MachineTag(args[0]), entity.HistoryMachine
	case entity.IsValidService(args[0]):
		tag, kind = entity.ServiceTag(args[0]), entity.HistoryService
	default:
		return tag, kind, cli.WithHint(cli.Usagef("%q is no unit, machine or service", args[0]),
			"A unit's name is its service and a number: web/0")
	}
	if c.kind == "" {
		return tag, kind, nil
	}
	kind = entity.HistoryKind(c.kind)
	switch kind {
	case entity.HistoryUnit, entity.HistoryUnitAgent, entity.HistoryWorkload:
		if tag.Kind == entity.KindUnit {
			return tag, kind, nil
		}
	case entity.HistoryMachine, entity.HistoryMachineAgent:
		if tag.Kind == entity.KindMachine {
			return tag, kind, nil
		}
	case entity.HistoryService, entity.HistoryRemote:
		if tag.Kind == entity.KindService {
			return tag, kind, nil
		}
	default:
		return tag, kind, cli.WithHint(cli.Usagef("unexpected status type %q", c.kind),
			"Valid types: "+strings.Join(historyKinds(), ", "))
	}
	return tag, kind, cli.Usagef("%s %s has no status of type %q", tag.Kind, tag.ID, c.kind)
}

func historyKinds() (words []string) {
	for _, kind := range entity.HistoryKinds {
		words = append(words, string(kind))
	}
	return words
}

// query returns the query for -n, --days or --from-date.
func (c *showStatusLog) query(given func(flag string) bool) (q client.HistoryQuery, err error) {
	ways := 0
	for _, flag := range []string{"lines", "days", "from-date"} {
		if given(flag) {
			ways++
		}
	}
	if ways > 1 {
		return q, cli.Usagef("-n, --days and --from-date are mutually exclusive")
	}
	if !c.updates {
		q.Exclude = []string{updateStatus}
	}
	switch {
	case given("days"):
		if c.days < 1 {
			return q, cli.Usagef("--days must be a positive integer")
		}
		q.Ago = time.Duration(c.days) * 24 * time.Hour
	case given("from-date"):
		location := time.Local
		if c.utc {
			location = time.UTC
		}
		if q.From, err = time.ParseInLocation("2006-01-02", c.from, location); err != nil {
			return q, cli.Usagef("%q is not a date such as 2026-11-21", c.from)
		}
	case c.size < 1:
		return q, cli.Usagef("-n must be a positive integer")
	default:
		q.Size = c.size
	}
	return q, nil
}

// A shownStatus is the YAML and JSON form of a past status.
type shownStatus struct {
	Since   string         `yaml:"since" json:"since"`
	Type    string         `yaml:"type" json:"type"`
	Status  string         `yaml:"status" json:"status"`
	Message string         `yaml:"message,omitempty" json:"message,omitempty"`
	Data    map[string]any `yaml:"data,omitempty" json:"data,omitempty"`
}

func (c *showStatusLog) show(past []entity.PastStatus) error {
	if len(past) == 0 && c.output.Format == "tabular" {
		c.Note("no status history available")
		return nil
	}
	location := time.Local
	if c.utc {
		location = time.UTC
	}
	if c.output.Format == "tabular" {
		var text bytes.Buffer
		color, width := false, 0
		if c.OutTerminal && c.output.Path == "" {
			color, width = c.Paints(true), c.Width()
		}
		if err := statusfmt.History(&text, past,
			statusfmt.Options{Location: location, Color: color, Width: width}); err != nil {
			return err
		}
		if color {
			return c.WriteStyled(c.output, text.Bytes())
		}
		return c.Write(c.output, text.Bytes())
	}
	shown := make([]shownStatus, len(past))
	for i, p := range past {
		shown[i] = shownStatus{p.Since.In(location).Format(time.RFC3339), string(p.Kind), string(p.Status.Status),
			p.Message, p.Data}
	}
	text, err := cli.Encode(c.output.Format, shown)
	if err != nil {
		return err
	}
	return c.Write(c.output, text)
}
