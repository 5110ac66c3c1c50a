package wait

import (
	"fmt"
	"testing"

	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// What a wait waits for, in different states of a model.
func TestWaitsFor(t *testing.T) {
	for _, test := range []struct {
		until   Condition
		model   string
		waiting string // "" when it is over
		fails   string
	}{
		{Condition{}, "", "", ""},
		{Condition{}, "web/0=active web=active 0=started", "", ""},
		{Condition{}, "web/0=waiting web=waiting 0=pending", "web/0 (waiting), web (waiting), 0 (pending)", ""},
		{Condition{}, "web/0=active:executing", "web/0 (running start hook)", ""},
		// A charm that never sets a status is as good as one that is active.
		{Condition{}, "web/0=unknown web=unknown", "", ""},
		{Condition{}, "web/0=unknown:allocating web=unknown", "web/0 (running start hook)", ""},
		{Condition{Status: "blocked", Names: []string{"web"}}, "web/0=unknown web=unknown", "web/0 (unknown), web (unknown)", ""},
		{Condition{Status: "blocked", Names: []string{"web"}}, "web/0=blocked web=blocked", "", ""},
		// The status of a service that its leader has set is what counts: of its units, those that a user names.
		{Condition{Status: "blocked", Names: []string{"web"}}, "web/0=active web=blocked", "", ""},
		{Condition{Status: "blocked"}, "web/0=active web=blocked", "", ""},
		{Condition{Status: "blocked", Names: []string{"web"}}, "web/0=active:executing web=blocked", "web/0 (running start hook)", ""},
		{Condition{Status: "blocked", Names: []string{"web"}}, "web/0=blocked web=active", "web (active)", ""},
		{Condition{Status: "blocked", Names: []string{"web/*"}}, "web/0=active web=blocked", "web/0 (active)", ""},
		{Condition{Names: []string{"web"}}, "web/0=waiting web=active", "web/0 (waiting)", ""},
		// What was there and is removed ends a wait.
		{Condition{Names: []string{"web/0"}, before: waittest.Model("web/0=waiting")}, "web/1=active", "", "web/0 was removed"},
		{Condition{Upgrading: "3", before: waittest.Model("3=started")}, "web/1=active", "", "machine 3 was removed"},
		// A lost unit runs no hook: its status stays as it is shown.
		{Condition{Status: "unknown", Names: []string{"web/0"}}, "web/0=unknown:lost", "", ""},
		{Condition{Names: []string{"web/0"}}, "web/0=unknown:lost", "web/0 (running start hook)", ""},
		// Other entities don't matter.
		{Condition{Names: []string{"web"}}, "web/0=active store/0=waiting store=waiting 0=pending", "", ""},
		{Condition{Names: []string{"web"}}, "web/0=active web/1=waiting", "web/1 (waiting)", ""},
		{Condition{Names: []string{"web/0"}}, "web/0=active web/1=waiting", "", ""},
		{Condition{Names: []string{"web/*"}}, "web/0=active web/1=waiting", "web/1 (waiting)", ""},
		{Condition{Names: []string{"3"}}, "3=pending", "3 (pending)", ""},
		{Condition{Names: []string{"3"}}, "3=started", "", ""},
		{Condition{Names: []string{"web", "x"}}, "web/0=waiting", "", `"x" not found`},
		{Condition{}, "web/0=waiting web/1=waiting web/2=waiting web/3=waiting web/4=waiting",
			"web/0 (waiting), web/1 (waiting), web/2 (waiting) and 2 more", ""},
		// A failed hook ends the wait.
		{Condition{}, "web/0=error web=error", "", `unit web/0 is in error: hook failed: "start"`},
		// A resolved hook is about to be retried or skipped.
		{Condition{Names: []string{"web/0"}}, "web/0=error:resolved", `web/0 (error: hook failed: "start")`, ""},
		{Condition{Names: []string{"web/0"}, Status: "error"}, "web/0=error:resolved", `web/0 (error: hook failed: "start")`, ""},
		{Condition{Gone: true, Names: []string{"web/0"}}, "web/0=error:resolved!", `web/0 (dying, error: hook failed: "start")`,
			""},
		{Condition{Names: []string{"store"}}, "web/0=error web=error store/0=waiting", "store/0 (waiting)", ""},
		{Condition{Status: "error"}, "web/0=error web=error", "", ""},
		{Condition{}, "0=error", "", "machine 0 is in error: "},
		{Condition{Names: []string{"web"}}, "web/0=active! web=active!", "", "service web is being destroyed"},
		{Condition{Names: []string{"web"}}, "web/0=active! web/1=active", "", ""},
		// An upgrade is over when hooks are, whatever the charm says.
		{Condition{Upgraded: true, Names: []string{"web"}}, "web/0=maintenance web/1=active web=maintenance", "", ""},
		{Condition{Upgraded: true, Names: []string{"web"}}, "web/0=maintenance:executing web=active", "web/0 (running start hook)", ""},
		// Waiting until entities are gone.
		{Condition{Gone: true, Names: []string{"web"}}, "", "", ""},
		{Condition{Gone: true, Names: []string{"web"}}, "store/0=active", "", ""},
		{Condition{Gone: true, Names: []string{"web"}}, "web/0=active! web=active!", "web/0 (dying, active), web (dying, active)",
			""},
		{Condition{Gone: true, Names: []string{"web"}}, "web/0=active web=active!", "web/0 (active), web (dying, active)", ""},
		{Condition{Gone: true, Names: []string{"web"}}, "web/0=error web=error!", "",
			`unit web/0 is in error: hook failed: "start"`},
		{Condition{Gone: true, Names: []string{"web/0", "1"}}, "web/0=active:executing! 1=started!",
			"web/0 (dying, running start hook), 1 (dying, started)", ""},
		{Condition{Gone: true, Names: []string{"web"}}, "web=active", "", "service web is not being destroyed"},
		{Condition{Gone: true, Names: []string{"web/0"}}, "web/0=error!", "", `unit web/0 is in error: hook failed: "start"`},
	} {
		waiting, err := test.until.waitsFor(waittest.Model(test.model))
		if waiting.text != test.waiting || fmt.Sprint(err) != test.fails && (err != nil || test.fails != "") {
			t.Errorf("%+v in %q: waits for %q, %v; want %q, %v", test.until, test.model, waiting.text, err, test.waiting, test.fails)
		}
	}
}

// A destruction that waits waits for all that goes with what it destroys.
func TestWaitsForWhatGoesAlong(t *testing.T) {
	on := func(words, machine string) *entity.ModelStatus {
		m := waittest.Model(words)
		for i := range m.Services {
			for j := range m.Services[i].Units {
				m.Services[i].Units[j].Machine = machine
			}
		}
		return m
	}
	const service, machine = "web", "0"
	for _, test := range []struct {
		name             string
		before, after    string
		left             entity.MachinesLeft
		waiting, machine string
	}{
		{service, "web/0=active web=active 0=started", "0=started", entity.MachinesLeft{}, "0 (started)", "0"},
		{service, "web/0=active web=active 0=started", "0=started!", entity.MachinesLeft{}, "0 (dying, started)", "0"},
		{service, "web/0=active web=active 0=started", "", entity.MachinesLeft{}, "", "0"},
		// A user added it, or something else is on it.
		{service, "web/0=active web=active 0=started", "0=started", entity.MachinesLeft{Machines: []string{"0"}}, "", "0"},
		{service, "web/0=active web=active 0=started", "0=started", entity.MachinesLeft{Uncounted: true}, "", "0"},
		{service, "web/0=active web=active 0=started", "0=started db/0=active", entity.MachinesLeft{}, "", "0"},
		{service, "web/0=active web=active 0=started", "0=started 0/lxd/1=started", entity.MachinesLeft{}, "", "0"},
		{machine, "web/0=active 0=started 0/lxd/0=started 1=started", "0/lxd/0=started! 1=started!", entity.MachinesLeft{},
			"0/lxd/0 (dying, started)", "0/lxd/0"},
		{machine, "web/0=active 0=started 0/lxd/0=started", "web/0=active! 1=started", entity.MachinesLeft{},
			"web/0 (dying, active)", "0/lxd/0"},
	} {
		u := Gone("destroy-"+test.name, []string{test.name})
		u.Takes(on(test.before, test.machine))
		u.Leaves(test.left)
		if waiting, err := u.waitsFor(on(test.after, test.machine)); waiting.text != test.waiting || err != nil {
			t.Errorf("after %q, %q waits for %q, %v; want %q", test.before, test.after, waiting.text, err, test.waiting)
		}
	}
}
