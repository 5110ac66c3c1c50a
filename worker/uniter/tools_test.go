package uniter

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/loggo"

	"juju/doc/tools/verify"
	"juju/hooks/hooktools"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// effects says of every hook tool when it takes effect. A tool that changes something has a
// command here, which shows on both sides of a hook that fails.
var effects = map[string]struct {
	when    string // "never", "buffered" or "at once"
	command string
	shows   func(r *rig, log string) bool
}{
	"relation-set": {"buffered", "relation-set -r 3 a=b",
		func(r *rig, _ string) bool { return r.c.settings[3]["a"] == "b" }},
	"relation-set of the service": {"buffered", "relation-set --app -r 3 a=b",
		func(r *rig, _ string) bool { return r.c.applications[3]["a"] == "b" }},
	"open-port": {"buffered", "open-port 81",
		func(r *rig, _ string) bool { return strings.Contains(fmt.Sprint(r.c.ports), "81/tcp") }},
	"close-port": {"buffered", "close-port 80",
		func(r *rig, _ string) bool { return !strings.Contains(fmt.Sprint(r.c.ports), "80/tcp") }},
	"state-set": {"buffered", "state-set a=b", func(r *rig, _ string) bool { return r.c.kept["a"] == "b" }},
	"state-delete": {"buffered", "state-delete old",
		func(r *rig, _ string) bool { return r.c.kept["old"] == "" }},
	"storage-add": {"buffered", "storage-add data",
		func(r *rig, _ string) bool { return r.c.stores["data"] == 1 }},
	"status-set": {"at once", "status-set blocked now",
		func(r *rig, _ string) bool { return strings.Contains(fmt.Sprint(r.c.statuses), "blocked: now") }},
	"status-set of the service": {"at once", "status-set --application waiting now",
		func(r *rig, _ string) bool { return r.c.ofService.Message == "now" }},
	"leader-set": {"at once", "leader-set primary=web/0",
		func(r *rig, _ string) bool { return r.c.shared["primary"] == "web/0" }},
	"application-version-set": {"at once", "application-version-set 8.0",
		func(r *rig, _ string) bool { return r.c.version == "8.0" }},
	"add-metric": {"at once", "add-metric users=5",
		func(_ *rig, log string) bool { return strings.Contains(log, "add-metric records nothing") }},
	// The secrets' part of the changes is tested by hooks TestTools, and their commit by state.
	"secret-add": {when: "buffered"}, "secret-set": {when: "buffered"}, "secret-remove": {when: "buffered"},
	"secret-grant": {when: "buffered"}, "secret-revoke": {when: "buffered"}, "secret-get": {when: "buffered"}, // it tracks what it reads
	"secret-info-get": {when: "never"}, "secret-ids": {when: "never"},
	"juju-log": {"at once", "juju-log hello", func(_ *rig, log string) bool { return strings.Contains(log, "hello") }},
	// They end their hook, or make it fail, so its effect shows on that side alone; see below.
	"juju-fail": {when: "fails"}, "juju-reboot": {when: "fails"},

	"is-leader": {when: "never"}, "leader-get": {when: "never"},
	"config-get": {when: "never"}, "goal-state": {when: "never"}, "network-get": {when: "never"},
	"opened-ports": {when: "never"}, "relation-get": {when: "never"}, "relation-ids": {when: "never"},
	"relation-list": {when: "never"}, "relation-model-get": {when: "never"}, "state-get": {when: "never"},
	"status-get": {when: "never"}, "unit-get": {when: "never"},
	"resource-get": {when: "never"}, "storage-get": {when: "never"}, "storage-list": {when: "never"},
	// Refused, or only checked.
	"action-get": {when: "never"}, "action-set": {when: "never"}, "action-fail": {when: "never"},
	"action-log": {when: "never"}, "function-get": {when: "never"}, "function-set": {when: "never"},
	"function-fail": {when: "never"}, "function-log": {when: "never"},
	"credential-get": {when: "never"}, "payload-register": {when: "never"},
	"payload-status-set": {when: "never"}, "payload-unregister": {when: "never"},
}

// What a hook has buffered takes effect only if it succeeds; what it says at once stays.
func TestToolsOnBothSidesOfAFailingHook(t *testing.T) {
	for _, name := range hooktools.Names() {
		if _, ok := effects[name]; !ok {
			t.Errorf("when does %s take effect?", name)
		}
	}
	for name, effect := range effects {
		if effect.command == "" {
			continue
		}
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s in a hook that fails %v", name, fails), func(t *testing.T) {
				script := effect.command
				if fails {
					script += "; exit 1"
				}
				r := newRig(t,
					map[string]string{"config-changed": "[ ! -e ../ready ] || { " + script + "; }", "start": "touch ../ready"})
				var log strings.Builder
				var mu sync.Mutex
				r.config.Hooks.Log = func(module string, _ loggo.Level, message string) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintln(&log, module, message)
				}
				r.c.leads, r.c.kept = 1, entity.CharmState{"old": "1"}
				r.c.ports["web/0"] = []entity.EndpointPorts{{PortRange: entity.PortRange{From: 80, To: 80, Protocol: "tcp"}}}
				r.c.relations[3] = newRelation(3, "db", "mysql", nil)
				r.start()
				r.settle(nil)
				r.settle(func() { r.c.unit.ConfigVersion++ })
				r.stop()
				if failed := r.c.failure() != ""; failed != fails {
					t.Fatalf("the hook has failed: %v; statuses %q\n%s", failed, r.c.statuses, &log)
				}
				if want := !fails || effect.when == "at once"; effect.shows(r, log.String()) != want {
					t.Errorf("its effect shows: %v", !want)
				}
			})
		}
	}
}

// A hook that calls juju-fail fails even if it exits with 0, its buffered changes are forgotten,
// and the status shows its words until the failure is resolved.
func TestJujuFail(t *testing.T) {
	r := newRig(t, map[string]string{"start": "[ -e ../second ] || { touch ../second; open-port 80; " +
		"juju-fail 'not this'; juju-fail 'no database: relate one'; }"})
	r.start()
	r.settle(nil)
	if got, want := r.c.failure(), `hook failed: "start": no database: relate one`; got != want {
		t.Errorf("the status says %q, want %q", got, want)
	}
	if len(r.c.ports["web/0"]) > 0 || r.c.workload.Data["reason"] != "it called juju-fail" {
		t.Errorf("ports %v, status %+v", r.c.ports, r.c.workload)
	}
	// The next agent remembers.
	r.stop()
	r.c.change(func() { r.c.workload = entity.Status{} })
	r.start()
	r.settle(nil)
	if got, want := r.c.failure(), `hook failed: "start": no database: relate one`; got != want {
		t.Errorf("after a restart, the status says %q, want %q", got, want)
	}
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	if r.c.failure() != "" || len(r.c.ports["web/0"]) > 0 {
		t.Errorf("status %+v, ports %v", r.c.workload, r.c.ports)
	}
}

// The model's settings reach the environment of the next hook.
func TestProxiesOfTheModelReachHooks(t *testing.T) {
	r := newRig(t, map[string]string{"config-changed": `echo "$JUJU_CHARM_HTTP_PROXY" >proxy`})
	told := make(chan string, 100) // the proxies that the agent was told of
	r.config.Configured = func(config modelconfig.Config) { told <- config["juju-http-proxy"].Value }
	r.start()
	r.settle(nil)
	if got := r.file("charm/proxy"); got != "http://proxy\n" {
		t.Errorf("the proxy is %q", got)
	}
	r.settle(func() {
		r.c.proxy = "http://other"
		r.c.unit.ConfigVersion++
	})
	if got := r.file("charm/proxy"); got != "http://other\n" {
		t.Errorf("after the change, the proxy is %q", got)
	}
	r.c.change(func() { r.c.proxy = "http://third" })
	for got := ""; got != "http://third"; {
		select {
		case got = <-told:
		case <-time.After(verify.Patience):
			t.Fatal("the agent was not told of the change")
		}
	}
}
