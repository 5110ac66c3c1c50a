package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func ExplainCommand(s *cli.Session) *cobra.Command {
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "explain [UNIT | MACHINE | SERVICE | SERVICE[:ENDPOINT] SERVICE[:ENDPOINT]]",
		Short: "Explain why an entity has not started or is not removed yet",
		Long: `Explain why an entity has not started, or is not removed, yet: what still refers to it,
which agent or hook must act, and since when. The reasons for a line are indented below
it. They include failed hooks, agents that are disconnected or unresponsive, workers that
keep failing, secrets that their owner has not rotated or removed, and recent changes that
failed. A line that starts with → says what to do.

Without arguments, explain every entity that is waiting for something. SERVICE/leader is
the service's leader.`,
		Example: `  juju explain web/0
  juju explain web store
  juju explain`,
		Annotations: cli.SeeAlso("status", "debug-log", "resolved", "check"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckListFormat(out.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api interface {
				wait.ExplainAPI
				cli.LeaderAPI
			}) error {
				names, err := cli.Leaders(ctx, api, args)
				if err != nil {
					return err
				}
				all, more, err := api.Explain(ctx, names...)
				if err != nil {
					return err
				}
				if out.Format != "tabular" {
					text, err := cli.Encode(out.Format, all)
					if err != nil {
						return err
					}
					return s.Write(out, text)
				}
				if err := s.WriteLines(out, explanations(all, s.Now())); err != nil || more == 0 {
					return err
				}
				s.Note("\n%d more entities are waiting. To see them all: juju status", more)
				return nil
			})
		},
	}
	out.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// explanations formats explanations for people.
func explanations(all []entity.Explanation, now time.Time) string {
	var b strings.Builder
	if len(all) == 0 {
		return "Nothing is waiting.\n"
	}
	since := func(format string, t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return fmt.Sprintf(format, max(now.Sub(t), 0).Round(time.Second))
	}
	shown := map[string]bool{} // causes
	var held []string          // entities without other causes
	for _, e := range all {
		if causes := wait.CausesOf(e); len(causes) > 0 && len(e.Refusals)+len(e.Leftovers) == 0 &&
			!slices.ContainsFunc(causes, func(c entity.Reason) bool { return !shown[c.Of+c.Text] }) {
			held = append(held, display.Line(e.Name))
			continue
		}
		for _, c := range wait.CausesOf(e) {
			shown[c.Of+c.Text] = true
		}
		fmt.Fprintf(&b, "%s is %s", display.Line(e.Name), e.Life)
		if e.Life != entity.Alive { // its age explains nothing, and would be taken for the time that it waits
			b.WriteString(since(", for %v", e.Since))
		}
		b.WriteString("\n")
		if e.Strength == entity.Force && e.Life != entity.Gone {
			fmt.Fprintf(&b, "  forced: after %s the controller takes the steps that its agents have not\n",
				e.Deadline.UTC().Format(time.RFC3339))
		}
		for _, r := range e.Reasons {
			duration := ", for %v"
			if r.By != "" { // the text may end with another time, "the agent has been away since …"
				duration = " (awaited for %v)"
			}
			fmt.Fprintf(&b, "%s%s%s\n", strings.Repeat("  ", r.Depth+1), display.Line(r.Text), since(duration, r.Since))
			if r.Hint != "" {
				fmt.Fprintf(&b, "%s→ %s\n", strings.Repeat("  ", r.Depth+2), display.Line(r.Hint))
			}
		}
		for _, r := range e.Refusals {
			when := ""
			if !r.At.IsZero() {
				when = fmt.Sprintf(" %v ago", max(now.Sub(r.At), 0).Round(time.Second))
			}
			fmt.Fprintf(&b, "  a change failed%s: %s\n", when, display.Line(r.Text))
		}
		for _, r := range e.Leftovers {
			fmt.Fprintf(&b, "  left over: %s\n    → %s\n", display.Line(fmt.Sprintf("%s in %s: %s", r.What, r.Where, r.Why)),
				display.Line(r.How))
		}
		if len(e.Reasons)+len(e.Leftovers) == 0 {
			b.WriteString("  nothing to wait for\n")
		}
	}
	if len(held) > 0 {
		fmt.Fprintf(&b, "Also waiting for the same: %s\n", strings.Join(held, ", "))
	}
	return b.String()
}
