package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

func TestDestroyFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, asked, refused string }{
		{"destroy-unit web/0", "DestroyUnits [web/0]", ""},
		{"destroy-unit web/0 --lenient", "DestroyUnits leniently [web/0]", ""},
		{"destroy-service web --force", "DestroyServices with force after 1m0s [web]", ""},
		{"destroy-machine 3 --force --timeout 5s", "DestroyMachines with force after 5s [3]", ""},
		{"destroy-relation web store --force --no-wait", "DestroyRelation with force after 0s [web store]", ""},
		{"destroy-relation 4 --lenient", "DestroyRelationByID leniently 4", ""},
		{"destroy-unit web/0 --force --lenient", "", "--force and --lenient are mutually exclusive: --force skips all hooks"},
		{"destroy-unit web/0 --timeout 1s", "", "--timeout is only used with --force"},
		{"destroy-unit web/0 --no-wait", "", "--no-wait without --force not valid"},
		{"destroy-unit web/0 --force --timeout=-1s", "", "--timeout must not be negative, got -1s"},
		{"destroy-unit web/0 --force --timeout=2562047h47m16s", "",
			"--timeout must not be more than 8760h0m0s, got 2562047h47m16s"},
	} {
		u := newUser(t)
		u.Types(strings.Fields(test.line)...)
		if test.refused != "" {
			u.Sees(2, "", "ERROR "+test.refused+"\nFor usage: juju help "+strings.Fields(test.line)[0]+"\n")
			u.Asked()
			continue
		}
		u.Sees(0, "", "")
		asked := []string{test.asked}
		if strings.Contains(test.asked, "Machines with force") { // what goes with them
			asked = append([]string{"Status"}, asked...)
		}
		u.Asked(asked...)
	}
}

// What a forced destruction left behind is an error.
func TestForceReportsLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Model.Returns.Explanations = []entity.Explanation{
			{Name: "machine 3", Life: entity.Dying, Reasons: []entity.Reason{{Text: "the agent of machine 3 must set it dead"}}},
			{Name: "machine 3", Life: entity.Gone, Leftovers: []entity.Leftover{
				{What: "instance i-3 of machine 3", Where: "cloud local", Why: "it is on fire", How: "Put it out: rm -r /dir"}}},
		}
		u.Types("destroy-machine", "3", "--force")
		u.Sees(1, "", "Waiting for 3: the agent of machine 3 must set it dead\n"+
			"ERROR machine 3 is removed, but instance i-3 of machine 3 is left in cloud local: it is on fire\n"+
			"Put it out: rm -r /dir\n")
	})
}

// A host's containers are stopped one after another, each of which may take as long as the
// cloud may take.
func TestForceWaitsWhileItMakesProgress(t *testing.T) {
	t.Parallel()
	dying := func(containers ...string) (e entity.Explanation) {
		e = entity.Explanation{Name: "machine 3", Life: entity.Dying}
		for _, c := range containers {
			e.Reasons = append(e.Reasons, entity.Reason{Text: "machine 3 has container " + c})
		}
		return e
	}
	for end, test := range map[string]struct {
		containers []string
		life       entity.Life
		wait       time.Duration
		says       string
	}{
		"all go": {[]string{"a", "b", "c"}, entity.Gone, 3 * time.Minute, ""},
		"one never does": {[]string{"a", "b"}, entity.Dying, 3*time.Minute + 30*time.Second,
			"ERROR gave up after 3m30s: still waiting for 3\nTo see why: juju explain 3\n"},
	} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUser(t)
				begin := time.Now()
				for i := range test.containers {
					time.AfterFunc(time.Duration(i+1)*time.Minute, func() { u.Model.Change(nil) })
				}
				u.Model.Returns.Explain = func() entity.Explanation {
					gone := min(int(time.Since(begin)/time.Minute), len(test.containers))
					e := dying(test.containers[gone:]...)
					if gone == len(test.containers) {
						e.Life = test.life
					}
					return e
				}
				u.Types("destroy-machine", "3", "--force", "-q")
				code := 0
				if test.says != "" {
					code = 1
				}
				u.Sees(code, "", test.says)
				if took := time.Since(begin).Truncate(30 * time.Second); took != test.wait {
					t.Errorf("it took %v, want %v", took, test.wait)
				}
			})
		})
	}
}

// A controller that does not answer does not keep --force from giving up.
func TestForceGivesUpOnASilentController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Model.Returns.Silent = true
		u.Model.Returns.Explain = func() entity.Explanation { return entity.Explanation{Name: "machine 3", Life: entity.Dying} }
		begin := time.Now()
		u.Types("destroy-machine", "3", "--force", "-q")
		u.Sees(1, "", "ERROR gave up after 2m30s: still waiting for 3\nTo see why: juju explain 3\n")
		if took := time.Since(begin); took != 150*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Freeze()
	now := u.Session.Now()
	u.Model.Returns.Explanations = []entity.Explanation{{Name: "service web", Life: entity.Dying, Since: now.Add(-time.Hour),
		Reasons: []entity.Reason{
			{Text: `service "web" has unit "web/0"`, Since: now.Add(-time.Minute)},
			{Depth: 1, Text: `unit "web/0": hook failed: "stop"`, Hint: "juju resolved web/0"},
			{Depth: 1, By: "unit-web-0", Text: "the agent of unit web/0 must set it dead", Since: now.Add(-2 * time.Minute)},
		},
		Refusals: []entity.Refusal{{At: now.Add(-5 * time.Second), Text: "units web/0: life is dying, not alive"}},
	}}
	u.Types("explain", "web")
	u.Sees(0, `service web is dying, for 1h0m0s
  service "web" has unit "web/0", for 1m0s
    unit "web/0": hook failed: "stop"
      → juju resolved web/0
    the agent of unit web/0 must set it dead (awaited for 2m0s)
  a change failed 5s ago: units web/0: life is dying, not alive
`, "")
}

// While a model is destroyed, what only a user can clear away is said, once each, and once for all units
// what can be done about failed hooks.
func TestDestroyModelSaysWhatWaitsForAUser(t *testing.T) {
	t.Parallel()
	cause := entity.Reason{Of: "unit-web-0", By: entity.ByUser, Text: `unit "web/0": hook failed: "stop"`, Hint: "do this"}
	u := newUser(t)
	also := entity.Reason{Of: "unit-web-1", By: entity.ByUser, Text: `unit "web/1": hook failed: "stop"`, Hint: "do that"}
	machine := entity.Reason{Of: "machine-0", By: entity.ByUser, Text: "instance i is gone", Hint: "give it up"}
	u.Model.Returns.Explain = func() entity.Explanation {
		return entity.Explanation{Reasons: []entity.Reason{cause, also, machine, cause}}
	}
	for _, line := range []string{"destroy-model default -y", "destroy-model default -y --wait=5s"} {
		u.Controller.Add("admin", "default")
		u.Controller.Stays = 3
		u.Types(strings.Fields(line)...)
		want := "Waiting for a user: instance i is gone\n  → give it up\n" +
			"Waiting for a user: unit \"web/0\": hook failed: \"stop\"\nWaiting for a user: unit \"web/1\": hook failed: \"stop\"\n" +
			"  → run the hook of a unit again: juju resolved -m prod:admin/default UNIT; skip it: juju resolved -m prod:admin/default " +
			"--no-retry UNIT; in the whole model, skip every hook that fails: juju destroy-model --lenient prod:admin/default; run no hook " +
			"at all, and leave behind what stop would remove: juju destroy-model --force prod:admin/default\n"
		if said := u.Err.String(); strings.Count(said, want) != 1 {
			t.Errorf("%s: said %s", line, said)
		}
	}
}

// Who upgrades a charm, or resolves a unit, hears that a failed hook holds up the upgrade.
func TestFailedHooksHoldUpAnUpgrade(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=error web/1=active web/2=error")
	m.Services[0].CharmURL, m.Services[0].Series, u.Model.Uploaded = "local:jammy/webpage-3", "jammy", emptyZip(t)
	m.Services[0].Units[0].CharmURL = "local:jammy/webpage-2"
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	const atOnce = "To upgrade units in error at once: juju upgrade-charm web --force-units, with the same --path, --switch or " +
		"--revision; the failed hook then runs from the new charm\n"
	for line, want := range map[string]string{
		"resolved web/0 web/2": "Unit web/0 reruns the failed hook of its old charm, and is upgraded once that succeeds.\n" +
			atOnce,
		"resolved web/0 --no-retry": "",
	} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", want)
	}
	u.Types("upgrade-charm", "web", "--path", charmDir(t, metadata))
	if said := u.Err.String(); u.Code != 0 || !strings.HasSuffix(said, "its units are being upgraded.\nIn error, "+
		"and not upgraded until resolved with the old charm: web/0, web/2\n"+atOnce) {
		t.Errorf("%d, said %s", u.Code, said)
	}
	u.Types("upgrade-charm", "web", "--path", charmDir(t, metadata), "--force-units")
	if said := u.Err.String(); u.Code != 0 || strings.Contains(said, "In error") {
		t.Errorf("%d, said %s", u.Code, said)
	}
}

// Commands that destroy units say what becomes of their storage.
func TestStorageOfWhatIsDestroyed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Left = entity.DestroyInfo{DetachedStorage: []string{"data/0", "data/1"}, DestroyedStorage: []string{"cache/2"}}
	for _, line := range []string{"destroy-unit web/0", "destroy-service web"} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", "- will remove storage cache/2\n- will detach storage data/0\n- will detach storage data/1\n")
	}
	u.Types("destroy-machine", "0", "--force")
	u.Sees(0, "", "- will remove storage cache/2\n")
}

// Commands that destroy units name the machines that are left without units.
func TestMachinesLeftWithoutUnits(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for line, want := range map[string]string{
		"destroy-unit web/0": "Machines 3, 10 are left without units. To destroy them: juju " +
			"destroy-machine 3 10; next time: juju destroy-unit --destroy-machines\n",
		"destroy-service web --destroy-machines": "Machines 3, 10 are left without units. To destroy them: juju " +
			"destroy-machine 3 10\n",
		"destroy-service web --destroy-machines -q": "",
	} {
		u.Model.Returns.Left.MachinesLeft = entity.MachinesLeft{Machines: []string{"10", "3", "3"}}
		u.Types(strings.Fields(line)...)
		u.Sees(0, "", want)
	}
	u.Model.Returns.Left.MachinesLeft = entity.MachinesLeft{Machines: []string{"7"}}
	u.Types("destroy-service", "web")
	u.Sees(0, "", "Machine 7 is left without units. To destroy it: juju destroy-machine 7; next time: juju "+
		"destroy-service --destroy-machines\n")
	u.Model.Returns.Left.MachinesLeft = entity.MachinesLeft{Uncounted: true}
	u.Types("destroy-service", "web")
	u.Sees(0, "", "Some machines will be left without units. To destroy them too: juju destroy-service "+
		"--destroy-machines\n")
}
