package query

import (
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
)

// model is one with two services, one of them with a subordinate.
func model() *entity.ModelStatus {
	active, waiting := entity.Status{Status: entity.StatusActive, Message: "ready"}, entity.Status{Status: entity.StatusWaiting}
	agent := func(w entity.StatusWord) entity.Status { return entity.Status{Status: w} }
	return &entity.ModelStatus{
		Model:    entity.ModelHeader{Name: "default", Cloud: "local", Status: agent("available")},
		Machines: []entity.MachineStatus{{ID: "0", Status: agent(entity.StatusStarted)}, {ID: "1", Status: agent(entity.StatusPending)}},
		Services: []entity.ServiceStatus{
			{Name: "store", Status: waiting, MinUnits: 1},
			{Name: "logging", Status: active, Subordinate: true},
			{Name: "web", Status: waiting, Exposed: true, CharmURL: "local:web-1", Units: []entity.UnitStatus{
				{Name: "web/0", Machine: "0", Workload: active, Agent: agent(entity.StatusIdle), Leader: true, Subordinates: []entity.UnitStatus{
					{Name: "logging/0", Machine: "0", Workload: active, Agent: agent(entity.StatusIdle)}}},
				{Name: "web/1", Machine: "1", Life: entity.Dying, Workload: waiting, Agent: agent(entity.StatusExecuting)},
			}},
		}}
}

// A query says what is not true yet, in the words of the model.
func TestQueries(t *testing.T) {
	for _, c := range []struct {
		kind        Kind
		name, query string
		unmet       string // "" if it holds
	}{
		{Application, "web", `status=="waiting"`, ""},
		{Application, "web", `status == "active"`, `web (status is "waiting")`},
		{Application, "web", `life=="alive" && status=="active"`, `web (status is "waiting")`},
		{Application, "web", `name=="web" && (status=="active" || status=='idle')`, `web (status is "waiting" and status is "waiting")`},
		{Application, "web", `status=="active" || exposed`, ""},
		{Application, "web", `len(units) == 2 && len(machines)>=2 && len(name)<4 && len(units) > 1 && len(units) <= 2 && min-units<1`, ""},
		{Application, "web", `len(units) == 3`, `web (len(units) is 2)`},
		{Application, "web", `!exposed`, `web (exposed is true)`},
		{Application, "web", `subordinate`, `web (subordinate is false)`},
		{Application, "web", `subordinate==false && exposed != subordinate && !(subordinate)`, ""},
		{Application, "web", `forEach(units, unit => unit.workload-status=="active" && unit.life=="alive")`,
			`web (web/1: workload-status is "waiting")`},
		{Application, "web", `forEach(units, unit => startsWith(unit.name, "web/") && !endsWith(unit.name, "/2"))`, ""},
		{Application, "web", `forEach(units, u => forEach(u.machines, m => m.status=="started" || u.leader == false && name=="web"))`, ""},
		{Application, "web", `forEach(machines, m => forEach(m.units, u => u.agent-status=="idle"))`,
			`web (machine 1: web/1: agent-status is "executing")`},
		{Application, "store", `forEach(units, u => u.leader)`, ""},
		{Application, "none", `true`, `application none (there is none yet)`},
		{Application, "web", "`local:web-1` == charm-url && \"a\\\"\" != 'a'", ""},
		{Unit, "logging/0", `application=="logging" && machine-id=="0" && workload-message=="ready" && len(machines)==1`, ""},
		{Unit, "web/1", `life=="alive"`, `web/1 (life is "dying")`},
		{Machine, "0", `status=="started" && len(units)==2`, ""},
		{Machine, "1", `id=="1" && status=="started"`, `machine 1 (status is "pending")`},
		{Model, "", `life=="alive" && status=="available" && !is-controller && len(applications)==3 && len(units)==3`, ""},
		{Model, "", `forEach(applications, app => app.status == "active" || len(app.units)==0)`,
			`model default (web: status is "waiting" and len(units) is 2)`},
	} {
		q, err := Parse(c.query, c.kind)
		if err != nil {
			t.Error(err)
		} else if unmet := q.Unmet(model(), c.name); unmet != c.unmet {
			t.Errorf("%s %s: %s: %q, want %q", c.kind, c.name, c.query, unmet, c.unmet)
		}
	}
}

// What can't be asked is refused before anything is waited for, with the place and what can be.
func TestQueriesThatAreRefused(t *testing.T) {
	for query, want := range map[string]string{
		``:                                `at character 1: something is missing at the end`,
		`status`:                          `at character 1: status is a text, not true or false`,
		`state=="x"`:                      `at character 1: no application has "state"; each has charm-url, `,
		`life=="alive" &&`:                `at character 17: something is missing at the end`,
		`life=="alive" life`:              `at character 15: unexpected "life"`,
		`life=alive`:                      `= does not compare; use ==`,
		`life==alive`:                     `no application has "alive"`,
		`life=="alive`:                    `the text "alive does not end`,
		`life=="\q"`:                      `"\q" is not a text in double quotes`,
		`min-units=="1"`:                  `min-units is a number, and "1" is a text: they can't be compared`,
		`min-units==99999999999999999999`: `99999999999999999999 is too large`,
		`units==units`:                    `units is a list, which == does not compare`,
		`exposed < exposed`:               `exposed is true or false, which < does not compare`,
		`status && exposed`:               `status is a text, not true or false, as && needs`,
		`!status`:                         `status is a text, not true or false, as ! needs`,
		`len(exposed)==1`:                 `exposed is true or false, which has no length`,
		`count(units)==1`:                 `there is no function "count"; there are endsWith, forEach, len, startsWith`,
		`forEach(status, s => true)`:      `status is a text, not a list, as forEach needs`,
		`forEach(units, u => u)`:          `an attribute of u is missing, such as u.life`,
		`forEach(units, u => u.exposed)`:  `no unit has "exposed"`,
		`forEach(units, u => u.life)`:     `life is a text, not true or false`,
		`forEach(units, u.life)`:          `"=>" is missing before ".life)"`,
		`forEach(units, u => true) && u.life=="alive"`: `no application has "u"`,
		`startsWith(units, "a")`:                       `units is a list, not a text, as startsWith needs`,
		`(life=="alive"`:                               `")" is missing at the end`,
		strings.Repeat("(", 1000):                      `it is nested more than 50 times`,
		strings.Repeat("!", 1000):                      `it is nested more than 50 times`,
		"life==\"alive\" \u00e9":                       `unexpected "é"`,
	} {
		if _, err := Parse(query, Application); !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// No text makes the parser fail otherwise than with an error, and what it accepts can be asked of any model.
func FuzzQueries(f *testing.F) {
	for _, seed := range []string{`life=="alive" && (len(units)>=2 || !exposed)`, `forEach(units, u => forEach(u.machines, m => m.status!='x'))`,
		`startsWith(name, "a\"")`, "`"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		q, err := Parse(source, Application)
		if err != nil {
			if !errors.Is(err, entity.Invalid) {
				t.Errorf("%q: %v", source, err)
			}
			return
		}
		for _, m := range []*entity.ModelStatus{model(), {}} {
			for _, name := range []string{"web", "store"} {
				q.Unmet(m, name)
			}
		}
	})
}
