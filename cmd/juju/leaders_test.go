package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"juju/apiserver/client"
	"juju/cmd/juju/commands"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// Every command that takes a unit takes SERVICE/leader, and asks about the unit that leads the service.
func TestEveryCommandTakesTheLeader(t *testing.T) {
	t.Parallel()
	asks := map[string]string{ // a command with web/leader → a call, where web/7 leads
		"add-storage web/leader data":                    "AddStorage web/7 ",
		"attach-storage web/leader data/0":               "AttachStorage web/7 [data/0]",
		"debug-log -i web/leader -x web/leader":          `"IncludeEntity":["web/7"],"ExcludeEntity":["web/7"]`,
		"destroy-unit web/0 web/leader":                  "DestroyUnits [web/0 web/7]",
		"operations --units web/leader,db/0":             `"Units":["web/7","db/0"]`,
		"payloads web/leader docker":                     "Payloads [web/7 docker]",
		"resolved web/leader":                            "Resolve true [web/7]",
		"resources web/leader":                           "Resources web",
		"show-status-log web/leader":                     "StatusHistory unit unit-web-7 ",
		"show-unit web/leader --related-unit web/leader": "UnitInfo web/7",
		"wait-for web/leader --timeout 1s":               "Status",
		"explain web/leader":                             "Leader web",
		"debug-hooks web/leader":                         "Status web/7",
		"charm-history web/leader":                       "Status web/7",
		"ssh web/leader ls":                              "Status web/7",
		"scp web/leader:x /nonexists":                    "Status web/7",
		// The controller finds the leader.
		"exec --unit web/leader ls": `"Units":["web/leader"]`,
		"run --unit web/leader ls":  `"Units":["web/leader"]`,
		"run-action web/leader go":  "EnqueueActions go {} [web/leader]",
		"status web/leader":         "Status web/leader",
	}
	tested := map[string]bool{}
	for line, want := range asks {
		words := strings.Fields(line)
		tested[words[0]] = true
		t.Run(words[0], func(t *testing.T) {
			u := newUser(t)
			u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/7=active web=active 0=started")}
			u.Model.Returns.Explain = func() entity.Explanation { return entity.Explanation{} }
			u.Model.Returns.Resources = entity.ResourcesOf{Units: map[string]map[string]entity.ResourceFile{"web/7": {}}}
			u.Model.Returns.Unit = client.UnitInfo{}
			u.Types(words...)
			if calls := strings.Join(u.Model.Calls, "\n"); !strings.Contains(calls, want) || u.Code == 2 {
				t.Errorf("exit code %d, said %q, asked\n%s\nwant %s", u.Code, u.Err.String(), calls, want)
			}
		})
	}
	// The test has all commands whose arguments or flags are units.
	unit := regexp.MustCompile(`\b(UNIT|TARGET|PATTERN)\b|^scp `)
	for _, cmd := range commands.New(newUser(t).Session).Commands() {
		takes := unit.MatchString(cmd.Use)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			takes = takes || regexp.MustCompile(`^(unit|units|related-unit|include)$`).MatchString(f.Name)
		})
		if takes != tested[cmd.Name()] {
			t.Errorf("%s takes units: %v, and is in the test: %v", cmd.Name(), takes, tested[cmd.Name()])
		}
	}
}
