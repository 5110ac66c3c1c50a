package wait

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait/query"
	"juju/state/entity"
)

func WaitForCommand(s *cli.Session) *cobra.Command {
	w := &waitFor{Session: s}
	cmd := &cobra.Command{
		Use:   "wait-for [SERVICE|UNIT|MACHINE...]",
		Short: "Wait until services, units or machines have settled",
		Long: `Wait until services, units and machines, or the whole model, have settled: services and
units are active, or unknown if the charm never sets a status, and no hook is running;
machines are started. In a name, * matches anything. The word service, unit or machine may
precede each name. SERVICE/leader is the unit that leads the service when the wait begins.

--status waits until the services and units have that status instead of active. Of a
service that has a status of its own, which its leader has set, that counts, and its units
only have to be idle. --gone waits until entities that are being destroyed are removed.

--query waits until an expression is true of one service, unit or machine, or of the
model. It compares attributes with texts and numbers (==, !=, <, <=, >, >=), joins
comparisons with &&, || and !, and has the functions len(LIST), startsWith(TEXT, START),
endsWith(TEXT, END) and forEach(LIST, NAME => EXPRESSION), which is true if the expression
is true of all in the list. Each kind of entity has its attributes:
` + query.Attributes() + `
It also waits for entities that do not exist yet, and goes on after a failed hook.

If a unit is idle with another status, the command says since when, and that no hook is
pending. It keeps waiting, since an event or update-status may change the status.

A last line on standard error says what has settled; --quiet omits it.

The command fails on timeout. It fails at once if what it waits for is removed, and if a
hook has failed, unless the model's automatically-retry-hooks is set, because nothing
changes until a user runs juju resolved.`,
		Example: `  juju wait-for
  juju wait-for web store --timeout 2m
  juju wait-for web --status blocked
  juju wait-for application web --query 'status=="active" && len(units) >= 3'
  juju wait-for model --query 'forEach(units, u => u.agent-status=="idle")'
  juju wait-for web/1 --gone`,
		Annotations: cli.SeeAlso("status", "explain"),
		RunE:        func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&w.status, "status", "", "the status to wait for, instead of active")
	cmd.Flags().StringVar(&w.query, "query", "", "an expression to wait for, about one service, unit or machine, or the model")
	cmd.Flags().BoolVar(&w.gone, "gone", false, "wait until they are removed")
	cmd.Flags().DurationVar(&w.timeout, "timeout", DefaultWait, "how long to wait")
	s.ModelFlag(cmd)
	return cmd
}

type waitFor struct {
	*cli.Session
	status  string
	query   string
	gone    bool
	timeout time.Duration
}

// waitKinds are the words that Juju requires before a name.
var waitKinds = []string{"service", "application", "unit", "machine", "model"}

func (w *waitFor) run(ctx context.Context, args []string) error {
	u := Condition{Status: entity.StatusWord(w.status), Gone: w.gone}
	kind := query.Kind("")
	for i, arg := range args {
		// The last word is always a name, except that a query needs no name for the model.
		if (i < len(args)-1 || w.query != "" && arg == string(query.Model)) && slices.Contains(waitKinds, arg) {
			kind = query.Kind(arg)
			continue
		}
		u.Names = append(u.Names, arg)
	}
	if len(args) == 2 && args[0] == "model" {
		w.Model, u.Names = args[1], nil
	}
	switch {
	case w.gone && w.status != "":
		return cli.Usagef("--gone and --status are mutually exclusive")
	case w.query != "" && (w.gone || w.status != ""):
		return cli.Usagef("--query says all: --gone and --status can't be given with it")
	case w.gone && len(u.Names) == 0:
		return cli.Usagef("--gone needs at least one name")
	case w.timeout <= 0:
		return cli.Usagef("--timeout must be positive")
	case w.query != "" && len(u.Names) > 1:
		return cli.Usagef("--query is about one service, unit or machine, or about the model")
	}
	if w.query != "" {
		var err error
		if u.Query, err = query.Parse(w.query, kindOf(kind, u.Names)); err != nil {
			return cli.Usage(err)
		}
		u.QueryText = w.query
	}
	return cli.WithModel(ctx, w.Session, func(api interface {
		StatusAPI
		cli.LeaderAPI
	}) (err error) {
		if u.Names, err = cli.Leaders(ctx, api, u.Names); err != nil {
			return err
		}
		return Until(ctx, w.Session, api, u, w.timeout)
	})
}

// kindOf returns what a query is about: what the user said, or else what has such a name.
func kindOf(said query.Kind, names []string) query.Kind {
	switch {
	case len(names) == 0:
		return query.Model
	case said == "service":
		return query.Application
	case said != "":
		return said
	case entity.IsValidMachine(names[0]):
		return query.Machine
	case cli.IsUnitTarget(names[0]):
		return query.Unit
	}
	return query.Application
}
