package wait

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func WaitForCommand(s *cli.Session) *cobra.Command {
	w := &waitFor{Session: s}
	cmd := &cobra.Command{
		Use:   "wait-for [NAME...]",
		Short: "Wait until services, units or machines have settled",
		Long: `Wait until services, units and machines, or the whole model, have settled: services and
units are active, or unknown if the charm never sets a status, and no hook is running;
machines are started. In a NAME, * matches anything. The word service, unit or machine may
precede each NAME.

--status waits until the services and units have that status instead of active. --gone
waits until entities that are being destroyed are removed.

If a unit is idle with another status, the command says since when, and that no hook is
pending. It keeps waiting, since an event or update-status may change the status.

The command fails on timeout. It fails at once if a hook has failed, unless the model's
automatically-retry-hooks is set, because nothing changes until a user runs juju resolved.`,
		Example: `  juju wait-for
  juju wait-for web store --timeout 2m
  juju wait-for web --status blocked
  juju wait-for web/1 --gone`,
		Annotations: cli.SeeAlso("status", "explain"),
		RunE:        func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&w.status, "status", "", "the status to wait for, instead of active")
	cmd.Flags().BoolVar(&w.gone, "gone", false, "wait until they are removed")
	cmd.Flags().DurationVar(&w.timeout, "timeout", DefaultWait, "how long to wait")
	s.ModelFlag(cmd)
	return cmd
}

type waitFor struct {
	*cli.Session
	status  string
	gone    bool
	timeout time.Duration
}

// waitKinds are the words that Juju requires before a name.
var waitKinds = []string{"service", "application", "unit", "machine", "model"}

func (w *waitFor) run(ctx context.Context, args []string) error {
	u := Condition{Status: entity.StatusWord(w.status), Gone: w.gone}
	for i, arg := range args {
		// The last word is always a name.
		if i < len(args)-1 && slices.Contains(waitKinds, arg) {
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
	case w.gone && len(u.Names) == 0:
		return cli.Usagef("--gone needs at least one name")
	case w.timeout <= 0:
		return cli.Usagef("--timeout must be positive")
	}
	return cli.WithModel(ctx, w.Session, func(api StatusAPI) error { return Until(ctx, w.Session, api, u, w.timeout) })
}
