package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/state/entity"
)

// A planFlags has the flags of commands whose change can be planned.
type planFlags struct {
	dryRun      bool
	ifUnchanged string
	format      string
	command     *cobra.Command // that was called
}

// PlanFlags adds --dry-run, --if-unchanged and --format to a command. It must make one change, or several with
// Together, in WithModel.
func (s *Session) PlanFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	if f.Lookup("dry-run") == nil {
		f.BoolVar(&s.plan.dryRun, "dry-run", false, "print what the command would do, and change nothing")
	}
	f.StringVar(&s.plan.ifUnchanged, "if-unchanged", "", "fail if the model has changed since the plan with this `TOKEN`")
	if f.Lookup("format") == nil {
		FormatFlag(cmd, &s.plan.format, "tabular", ListFormats...)
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.ReadPlanFlags(cmd); err != nil {
			return err
		}
		defer func() { s.plan.command = nil }()
		return run(cmd, args)
	}
}

// ReadPlanFlags reads and checks the plan flags of a command that is called. A command that parses flags itself must call it
// then.
func (s *Session) ReadPlanFlags(cmd *cobra.Command) error {
	p, f := &s.plan, cmd.Flags()
	p.dryRun, _ = f.GetBool("dry-run")
	p.command = cmd
	switch {
	case p.dryRun && p.ifUnchanged != "":
		return Usagef("--dry-run and --if-unchanged are mutually exclusive")
	case f.Changed("if-unchanged") && p.ifUnchanged == "":
		return Usagef("--if-unchanged needs the token of a plan")
	case p.dryRun && f.Lookup("wait") != nil && f.Changed("wait"):
		return Usagef("--dry-run changes nothing that --wait could wait for")
	}
	if f.Lookup("output") != nil { // the command has formats of its own
		p.format = f.Lookup("format").Value.String()
		if p.dryRun && !f.Changed("format") {
			p.format = "tabular"
		}
		return nil
	}
	if f.Changed("format") && !p.dryRun {
		return Usagef("--format is only used with --dry-run")
	}
	return CheckListFormat(p.format)
}

// Planning reports whether the change of the command is only planned.
func (s *Session) Planning() bool { return s.plan.command != nil && s.plan.dryRun }

// PlansUsed reports whether the change of the command is only planned, or made only if the model is as in a plan. Both need a
// connection to the model.
func (s *Session) PlansUsed() bool {
	return s.plan.command != nil && (s.plan.dryRun || s.plan.ifUnchanged != "")
}

// PlanFormat returns the format in which plans are printed.
func (s *Session) PlanFormat() string { return s.plan.format }

// maxPlanned is how many units a command plans. The time grows with their square: a thousand take half a minute.
const maxPlanned = 1000

// CheckUnits returns an error if a command would add, or plan, too many units.
func (s *Session) CheckUnits(n int, force bool) error {
	if err := CheckMany("units", n, force); err != nil || !s.Planning() || n <= maxPlanned {
		return err
	}
	return Usage(entity.WithHint(entity.Errorf(entity.Invalid,
		"--dry-run plans at most %d units: more would take minutes", maxPlanned),
		"Plan fewer: what one unit does, the others do too."))
}

// A planKeeper is a connection that keeps changes, to plan them together.
type planKeeper interface {
	KeepForPlan()
	PlanKept(ctx context.Context) error
}

// Together makes several changes, one after the other, or plans them together. api is the connection that makes them.
func (s *Session) Together(ctx context.Context, api any, changes ...func() error) error {
	if s.Planning() {
		api.(planKeeper).KeepForPlan()
	}
	for _, change := range changes {
		if err := change(); err != nil && !errors.Is(err, client.ErrPlanned) {
			return err
		}
	}
	if s.Planning() {
		return api.(planKeeper).PlanKept(ctx)
	}
	return nil
}

// A planner is a connection whose changes can be planned.
type planner interface {
	PlanOnly()
	Planned() *entity.Plan
	OnlyIfUnchanged(token string)
}

// planned calls do, whose change is made as the flags say, and prints the plan if it was only planned.
func (s *Session) planned(conn io.Closer, do func() error) error {
	if !s.PlansUsed() {
		return do()
	}
	p := conn.(planner)
	if !s.plan.dryRun {
		p.OnlyIfUnchanged(s.plan.ifUnchanged)
		return olderThanPlans(do())
	}
	p.PlanOnly()
	err := do()
	switch {
	case err == nil:
		s.Note("Nothing would be changed.")
		return nil
	case !errors.Is(err, client.ErrPlanned):
		return olderThanPlans(err)
	}
	plan := p.Planned()
	if plan == nil { // the command has said what there is to say
		return nil
	}
	s.Warn(plan.Warnings...)
	n := len(plan.Refused)
	if n == 0 || len(plan.Changes)+len(plan.Hooks) > 0 || s.plan.format != "tabular" {
		if err := s.printPlan(plan); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	err = fmt.Errorf("it would be refused: %s", plan.Refused[0])
	if n > 1 {
		err = fmt.Errorf("%d of the changes would be refused:\n%s", n, strings.Join(plan.Refused, "\n"))
	}
	if len(plan.Hints) > 0 {
		err = entity.WithHint(err, "%s", strings.Join(plan.Hints, "\n"))
	}
	return err
}

// olderThanPlans explains that an older controller can't plan.
func olderThanPlans(err error) error {
	if errors.Is(err, entity.NotImplemented) {
		return entity.WithHint(entity.Errorf(entity.NotSupported, "this controller cannot plan changes: nothing was changed"),
			"It is of an older version. To upgrade it: juju upgrade-controller")
	}
	return err
}

// printPlan prints a plan.
func (s *Session) printPlan(p *entity.Plan) error {
	if s.plan.format != "tabular" {
		text, err := Encode(s.plan.format, p)
		if err == nil {
			_, err = s.Stdout.Write(text)
		}
		return err
	}
	var b strings.Builder
	section := func(header []string, rows [][]string) {
		if len(rows) > 0 {
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.Write(Table(append([][]string{header}, rows...)))
		}
	}
	var changes, hooks [][]string
	for _, c := range p.Changes {
		changes = append(changes, []string{c.Action, c.Kind, c.Name, c.Detail})
	}
	for _, h := range p.Hooks {
		hooks = append(hooks, []string{h.Unit, h.Hook, h.About})
	}
	section([]string{"ACTION", "KIND", "NAME", "DETAIL"}, changes)
	section([]string{"UNIT", "HOOK", "ABOUT"}, hooks)
	done := "Nothing was changed. "
	if b.Len() == 0 {
		b.WriteString("Nothing would be changed.\n")
		done = ""
	}
	if _, err := io.WriteString(s.Stdout, b.String()); err != nil {
		return err
	}
	for _, text := range p.Waits {
		s.Note("%s", text)
	}
	if len(p.Unsettled) > 0 {
		s.Note("These units are still busy with earlier changes, whose hooks are listed too: %s",
			strings.Join(p.Unsettled, ", "))
	}
	s.Note("%sTo do this only if the model is still the same: --if-unchanged %s", done, p.Token)
	return nil
}
