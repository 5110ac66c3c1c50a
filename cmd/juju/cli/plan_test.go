package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// A plan says what would change, and which hooks would run, or why the change would be refused.
func TestPlansArePrinted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	whole := entity.Plan{Token: "beef", Warnings: []string{"look out"},
		Changes: []entity.PlannedChange{{Action: entity.PlanAdd, Kind: "unit", Name: "web/1", Detail: "on machine 3"}},
		Hooks:   []entity.PlannedHook{{Unit: "web/1", Hook: "install"}, {Unit: "web/0", Hook: "ring-relation-joined", About: "web/1"}},
		Waits:   []string{"unit web/2 runs no hooks: its agent is lost"}, Unsettled: []string{"web/0", "web/2"}}
	const table = "ACTION  KIND  NAME   DETAIL\nadd     unit  web/1  on machine 3\n\n" +
		"UNIT   HOOK                  ABOUT\nweb/1  install\nweb/0  ring-relation-joined  web/1\n"
	const notes = "unit web/2 runs no hooks: its agent is lost\n" +
		"These units are still busy with earlier changes, whose hooks are listed too: web/0, web/2\n"
	const token = "To do this only if the model is still the same: --if-unchanged beef\n"
	refused := whole
	refused.Refused = []string{"no such unit"}
	for _, test := range []struct {
		plan         entity.Plan
		line         string
		code         int
		stdout, said string
	}{
		{whole, "", 0, table, "WARNING look out\n" + notes + "Nothing was changed. " + token},
		{entity.Plan{Token: "beef"}, "", 0, "Nothing would be changed.\n", token},
		{entity.Plan{Token: "beef", Changes: whole.Changes}, "", 0, strings.SplitAfter(table, "3\n")[0], "Nothing was changed. " + token},
		{entity.Plan{Token: "beef", Hooks: whole.Hooks[:1]}, "", 0, "UNIT   HOOK     ABOUT\nweb/1  install\n", "Nothing was changed. " + token},
		{entity.Plan{Token: "beef"}, "--format json", 0, `{"token":"beef","changes":[],"hooks":[]}` + "\n", ""},
		{entity.Plan{Token: "beef"}, "--format yaml", 0, "token: beef\nchanges: []\nhooks: []\n", ""},
		{entity.Plan{Refused: []string{"no such unit"}, Hints: []string{"Look.", "And think."}}, "", 1, "",
			"ERROR it would be refused: no such unit\nLook.\nAnd think.\n"},
		{entity.Plan{Refused: []string{"no such unit", "nor this one"}}, "", 1, "",
			"ERROR 2 of the changes would be refused:\n  no such unit\n  nor this one\n"},
		{entity.Plan{Token: "beef", Refused: []string{"no"}}, "--format json", 1, `{"token":"beef","changes":[],"hooks":[],"refused":["no"]}` + "\n",
			"ERROR it would be refused: no\n"},
		{refused, "", 1, table, "WARNING look out\n" + notes + "Nothing was changed. " + token + "ERROR it would be refused: no such unit\n"},
	} {
		u.Model.Returns.Plan = test.plan
		u.Types(append(strings.Fields("expose web --dry-run"), strings.Fields(test.line)...)...)
		if test.plan.Changes == nil && test.plan.Hooks == nil { // the fake's lists are null where the client's are empty
			got := strings.NewReplacer("null", "[]").Replace(u.Out.String())
			u.Out.Reset()
			u.Out.WriteString(got)
		}
		u.Sees(test.code, test.stdout, test.said)
		u.Asked("Expose web")
	}
}

// The flags of plans exclude what they can't do, before the controller is asked.
func TestFlagsOfPlans(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, want := range map[string]string{
		"--dry-run --if-unchanged beef": "--dry-run and --if-unchanged are mutually exclusive",
		"--if-unchanged=":               "--if-unchanged needs the token of a plan",
		"--dry-run --wait":              "--dry-run changes nothing that --wait could wait for",
		"--format json":                 "--format is only used with --dry-run",
		"--dry-run --format x":          `unknown format "x"`,
	} {
		u.Types(append([]string{"expose", "web"}, strings.Fields(line)...)...)
		u.Asked()
		if first, _, _ := strings.Cut(u.Err.String(), "\n"); u.Code != 2 || first != "ERROR "+want {
			t.Errorf("%s: exit code %d, %s", line, u.Code, u.Err.String())
		}
	}
	u.Types("expose", "web", "--wait", "--if-unchanged", "beef")
	u.Sees(0, "", "")
	if u.Asked("Expose web"); u.Model.Token != "beef" {
		t.Errorf("the change is made if the model is as in %q", u.Model.Token)
	}
	u.Types("expose", "a", "b", "--dry-run")
	u.Asked("Expose a", "Expose b") // which are planned together

	u.Model.Returns.Err = entity.Errorf(entity.NotImplemented, "no such method")
	for _, flag := range []string{"--dry-run", "--if-unchanged=beef"} {
		u.Types("expose", "web", flag)
		u.Sees(1, "", "ERROR this controller cannot plan changes: nothing was changed\nIt is of an older version. To upgrade it: juju upgrade-controller\n")
	}
	u.Types("expose", "web")
	u.Sees(1, "", "ERROR no such method\n")
	u.Model.Returns.Err = entity.Errorf(entity.NotFound, "no web")
	for _, line := range []string{"expose web", "expose web --dry-run", "status"} {
		u.Types(strings.Fields(line)...)
		u.Sees(1, "", "ERROR no web\nTo see what is in the model: juju status\n")
	}
}

// A thousand units are planned, and as many as one likes are added.
func TestPlansOfManyUnits(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("expose", "web")
	for n, want := range map[int]bool{100: true, 101: false} {
		if err := u.Session.CheckUnits(n, false); (err == nil) != want {
			t.Errorf("%d units: %v", n, err)
		}
	}
	if err := u.Session.CheckUnits(5000, true); err != nil {
		t.Error(err)
	}
}

// A command with formats of its own, one of which is its default, prints plans as tables unless the user chooses another.
func TestFormatsOfPlans(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"--dry-run": "tabular", "--dry-run --format json": "json", "--dry-run --format smart": "smart"} {
		format := ""
		u := clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
			var o cli.Output
			cmd := &cobra.Command{Use: "run", RunE: func(*cobra.Command, []string) error { format = s.PlanFormat(); return nil }}
			o.Flags(cmd, "smart", "smart", "json")
			s.PlanFlags(cmd)
			return []*cobra.Command{cmd}
		})
		u.Types(append([]string{"run"}, strings.Fields(args)...)...)
		if u.Code != 0 || format != want {
			t.Errorf("%s: plans are printed as %q, said %s", args, format, u.Err.String())
		}
	}
}
