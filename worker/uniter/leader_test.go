package uniter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
)

// leaderScripts are those of a charm that knows its leader.
func leaderScripts() map[string]string {
	return map[string]string{
		"leader-elected":          `is-leader >leader; leader-set primary=me`,
		"leader-settings-changed": `is-leader >leader; leader-get primary >primary`,
	}
}

// A unit hears that it leads its service before config-changed, and once for each claim.
func TestAUnitLeads(t *testing.T) {
	r := newRig(t, leaderScripts())
	r.c.leads = 1
	r.start()
	r.settle(nil)
	r.expect("install", "leader-elected", "config-changed", "start")
	if got := r.file("charm/leader"); got != "True\n" {
		t.Errorf("is-leader says %q", got)
	}
	if r.c.shared["primary"] != "me" {
		t.Errorf("the leader has set %v", r.c.shared)
	}
	if r.stop(); r.c.released != 1 {
		t.Errorf("when it stopped, the agent has released its leadership %d times", r.c.released)
	}

	// The next agent still leads by the same claim: nothing to hear.
	r.start()
	r.settle(nil)
	r.expect("config-changed")
	r.stop()

	// By another one: a unit of the service may have led in between.
	r.c.change(func() { r.c.leads = 3 })
	r.start()
	r.settle(nil)
	if ran := r.hooks(); len(ran) != 2 || !slices.Contains(ran, "leader-elected") {
		t.Errorf("elected again, it ran %q", ran)
	}
}

// A unit that does not lead hears what the leader sets, and takes over when it is elected.
func TestAUnitFollowsAndTakesOver(t *testing.T) {
	r := newRig(t, leaderScripts())
	r.c.shared = entity.LeaderSettings{"primary": "other"}
	r.start()
	r.settle(nil)
	r.expect("install", "leader-settings-changed", "config-changed", "start")
	if leader, primary := r.file("charm/leader"), r.file("charm/primary"); leader != "False\n" || primary != "other\n" {
		t.Errorf("is-leader says %q, leader-get %q", leader, primary)
	}
	r.settle(func() { r.c.shared["primary"], r.c.unit.LeaderSettingsVersion = "third", 2 })
	r.expect("leader-settings-changed")
	if primary := r.file("charm/primary"); primary != "third\n" {
		t.Errorf("leader-get says %q", primary)
	}
	// The wait for the leadership ends, and the unit claims it.
	r.settle(func() { r.c.leads = 2 })
	r.expect("leader-elected")
	if r.stop(); r.c.released != 1 {
		t.Errorf("when it stopped, the agent has released its leadership %d times", r.c.released)
	}
}

// An agent that stops while a hook runs releases its leadership when the hook is over.
func TestAnAgentReleasesItsLeadershipAfterItsLastHook(t *testing.T) {
	r := newRig(t, map[string]string{
		"start": `touch ../begun; while [ ! -e ../go ]; do sleep 0.01; done; leader-set last=word`,
	})
	r.c.leads = 1
	r.start()
	r.awaitFile("begun")
	r.cancel(errors.New("told to stop"))
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// Once it has released the leadership, leader-set fails.
	if r.end(); r.c.released != 1 || r.c.shared["last"] != "word" {
		t.Errorf("released %d times; the leader has set %v", r.c.released, r.c.shared)
	}
}

// A dying unit comes to lead its service if that is dying too, as when the leader was faster, though its hook asks for nothing;
// it is elected by no hook.
func TestADyingUnitLeadsADyingService(t *testing.T) {
	r := newRig(t, map[string]string{
		"leader-elected": "exit 1",
		"stop":           `touch ../begun; until [ -e ../granted ]; do sleep 0.01; done; leader-set last=word`,
	})
	r.start()
	r.settle(nil)
	r.c.change(func() { r.c.unit.Life, r.c.unit.ServiceLife = entity.Dying, entity.Dying })
	r.awaitFile("begun")
	r.c.change(func() { r.c.leads = 2 })
	r.c.await(t, "the unit to claim", func() bool { return r.c.granted == 2 })
	if err := os.WriteFile(filepath.Join(r.dir, "granted"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r.end(); r.c.shared["last"] != "word" {
		t.Errorf("the leader has set %v", r.c.shared)
	}
}

// It comes to lead also if its service is destroyed while its last hook runs.
func TestAServiceDiesDuringALastHook(t *testing.T) {
	r := newRig(t, map[string]string{
		"stop": `touch ../begun; until is-leader | grep True; do sleep 0.01; done; leader-set last=word`,
	})
	r.start()
	r.settle(nil)
	r.c.change(func() { r.c.unit.Life = entity.Dying })
	r.awaitFile("begun")
	r.c.change(func() { r.c.unit.ServiceLife, r.c.leads = entity.Dying, 2 })
	if r.end(); r.c.shared["last"] != "word" {
		t.Errorf("the leader has set %v", r.c.shared)
	}
}

// A hook that has set something for the whole service fails if its unit no longer leads by the
// claim that it led by then, and nothing that it has set is written.
func TestALeaderThatWasReplacedCommitsNothing(t *testing.T) {
	r := newRig(t, map[string]string{
		"config-changed": `[ ! -e ../ready ] || { relation-set --app -r 3 a=b; relation-set -r 3 c=d; open-port 80
			touch ../set; while [ ! -e ../go ]; do sleep 0.01; done; }`,
		"start": "touch ../ready",
	})
	r.c.leads = 1
	r.c.relations[3] = newRelation(3, "db", "mysql", nil)
	r.start()
	r.settle(nil)
	r.c.change(func() { r.c.agent = entity.Status{}; r.c.unit.ConfigVersion++ })
	r.awaitFile("set")
	r.c.change(func() { r.c.leads = 3 })
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.settle(nil)
	reason := fmt.Sprint(r.c.workload.Data["reason"])
	if r.c.failure() == "" || !strings.Contains(reason, `unit "web/0" is not the leader of service "web"`) {
		t.Errorf("the workload's status is %+v", r.c.workload)
	}
	if len(r.c.applications) > 0 || r.c.settings[3]["c"] != "" || len(r.c.ports["web/0"]) > 0 {
		t.Errorf("it has written %v, %v, %v", r.c.applications, r.c.settings, r.c.ports)
	}
}

// relation-changed for the other service names no unit, and is no unit's.
func TestRelationChangedForAService(t *testing.T) {
	r := newRig(t, map[string]string{
		"db-relation-changed": `echo "$JUJU_REMOTE_APP:$JUJU_REMOTE_UNIT $(relation-get x)" >>said
			relation-list >>said`,
	})
	r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.c.relations[3].settings["mysql"] = map[string]string{"x": "y"}
	r.start()
	r.settle(nil)
	r.settle(func() { r.c.relations[3].application = 1 })
	r.settle(func() { r.c.relations[3].application = 2 })
	r.expect("install", "config-changed", "start", "db-relation-joined mysql/0", "db-relation-changed mysql/0",
		"db-relation-changed", "db-relation-changed")
	if got, want := r.file("charm/said"), "mysql:mysql/0 \nmysql/0\nmysql: y\nmysql/0\nmysql: y\nmysql/0\n"; got != want {
		t.Errorf("the hooks say %q, want %q", got, want)
	}
}
