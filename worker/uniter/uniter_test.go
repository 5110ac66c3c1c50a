package uniter

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/juju/loggo"

	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
)

func TestLifeOfAUnit(t *testing.T) {
	scripts := map[string]string{
		"config-changed":      `config-get title >title`,
		"start":               `open-port 80`,
		"db-relation-joined":  `relation-set user="$(unit-get private-address)"; relation-list >members`,
		"db-relation-changed": `status-set active "serving with $(relation-get password)"`,
		"db-relation-broken":  `status-set blocked "no database"; close-port 80`,
		"db-relation-departed": `[ "$JUJU_DEPARTING_UNIT" = mysql/0 ]; relation-list >members
			[ "$(relation-get password)" = sesame ]`,
	}
	r := newRig(t, scripts)
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	r.expectStatuses("agent executing: deploying charm local:web-1",
		"agent executing: running install hook", "workload maintenance: installing charm software",
		"agent executing: running config-changed hook",
		"agent executing: running start hook", "workload unknown",
		"agent idle")
	if r.c.unit.CharmURL != "local:web-1" {
		t.Errorf("the unit's charm is %q", r.c.unit.CharmURL)
	}
	if got := r.file("charm/title"); got != "one\n" {
		t.Errorf("config-get said %q", got)
	}
	if diff := cmp.Diff(map[string][]entity.EndpointPorts{"web/0": {{PortRange: entity.PortRange{From: 80, To: 80, Protocol: "tcp"}}}},
		r.c.ports); diff != "" {
		t.Error(diff)
	}

	r.settle(func() {
		r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
		r.c.relations[3].settings["mysql/0"] = map[string]string{"password": "sesame"}
	})
	r.expect("db-relation-joined mysql/0", "db-relation-changed mysql/0")
	r.expectStatuses("agent executing: running db-relation-joined hook for mysql/0",
		"agent executing: running db-relation-changed hook for mysql/0", "workload active: serving with sesame", "agent idle")
	if want := (map[string]string{"private-address": "127.0.1.1", "user": "127.0.1.1"}); !maps.Equal(r.c.settings[3],
		want) {
		t.Errorf("the unit's settings are %v, want %v", r.c.settings[3], want)
	}
	if got := r.file("charm/members"); got != "mysql/0\n" {
		t.Errorf("when it joined, relation-list said %q", got)
	}

	r.settle(func() { r.c.config["title"] = "two"; r.c.unit.ConfigVersion = 2 })
	r.expect("config-changed")
	if got := r.file("charm/title"); got != "two\n" {
		t.Errorf("config-get said %q", got)
	}

	scripts["stop"] = "relation-ids db >ids"
	r.charm("local:web-2", scripts)
	r.settle(func() { r.c.unit.ServiceCharmURL = "local:web-2" })
	r.expect("upgrade-charm", "config-changed")

	r.settle(func() { r.c.relations[3].info.Life = entity.Dying })
	r.expect("db-relation-departed mysql/0", "db-relation-broken")
	if r.c.relations[3].info.InScope {
		t.Error("the unit is still in scope")
	}
	if got := r.file("charm/members"); got != "" {
		t.Errorf("when it departed, relation-list said %q", got)
	}

	r.c.change(func() { r.c.unit.ServiceLife = entity.Dying })
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) || r.c.unit.Life != entity.Dead {
		t.Errorf("the unit is %s, its agent ended with %v", r.c.unit.Life, err)
	}
	r.expect("stop")
	if last := r.c.statuses[len(r.c.statuses)-1]; last != "workload maintenance: stopping charm software" {
		t.Errorf("the last status was %q", last)
	}
	r.expectHistory("charm local:web-1", "hook config-changed", "hook db-relation-joined", "hook config-changed",
		"charm local:web-2", "hook db-relation-departed", "hook stop")

	// It must not be started again.
	r.start()
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) {
		t.Errorf("started again, it ended with %v", err)
	}
	r.expect()
}

func (r *rig) file(name string) string {
	content, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Error(err)
	}
	return string(content)
}

// expectHistory reads the history with git, if it is installed.
func (r *rig) expectHistory(want ...string) {
	r.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		r.t.Log("no git to read the history with")
		return
	}
	out, err := exec.Command(git, "-c", "safe.directory=*", "-C", filepath.Join(r.dir, "charm"), "log", "--reverse",
		"--format=%s").CombinedOutput()
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || !cmp.Equal(got, want) {
		r.t.Errorf("git says (%v):\n  %s\nwant:\n  %s", err, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestFailedHook(t *testing.T) {
	r := newRig(t, map[string]string{"db-relation-changed": `relation-set half=done; status-set waiting "for a file"; [ -e ready ] || { echo no file >&2; exit 1; }`})
	var said said
	said.listen(t)
	r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start", "db-relation-joined mysql/0", "db-relation-changed mysql/0")
	failed := func() {
		t.Helper()
		want := map[string]any{"hook": "db-relation-changed", "relation-id": 3, "remote-unit": "mysql/0",
			"reason": "exit status 1", "exit-code": 1, "last-line": "no file"}
		if r.c.failure() != `hook failed: "db-relation-changed"` || !cmp.Equal(r.c.workload.Data, want) {
			t.Errorf("workload's status is %+v, want data %v", r.c.workload, want)
		}
		if _, ok := r.c.settings[3]["half"]; ok {
			t.Error("a failed hook has written settings")
		}
	}
	failed()
	said.expect(t, `unit web/0: hook "db-relation-changed" for mysql/0 failed: exit status 1: no file`)
	if len(r.c.ran) != 5 || slices.Min(r.c.ran) <= 0 {
		t.Errorf("the hooks are reported to have run for %v, want five times", r.c.ran)
	}

	// Nothing else runs meanwhile, and a new agent finds the same state.
	r.c.change(func() { r.c.unit.ConfigVersion = 7 })
	r.stop()
	r.start()
	r.settle(nil)
	failed()
	r.expect()

	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	failed()
	said.expect(t, `unit web/0: hook "db-relation-changed" for mysql/0 failed: exit status 1: no file`)
	r.expect("db-relation-changed mysql/0")
	if r.c.unit.Resolved != entity.ResolvedNone {
		t.Error("the user's request was not taken back")
	}

	if err := os.WriteFile(filepath.Join(r.dir, "charm/ready"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	r.expect("db-relation-changed mysql/0", "config-changed")
	if got := r.c.settings[3]["half"]; got != "done" {
		t.Errorf("the settings are %v", r.c.settings[3])
	}
	if r.c.workload.Status != entity.StatusWaiting || r.c.workload.Message != "for a file" {
		t.Errorf("workload's status is %+v, not what the hook has set", r.c.workload)
	}
}

// said collects the errors that uniters log.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) Write(e loggo.Entry) {
	if e.Level == loggo.ERROR {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, e.Message)
	}
}

// listen must not be called by parallel tests.
func (s *said) listen(t *testing.T) {
	t.Helper()
	if err := loggo.RegisterWriter(t.Name(), s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loggo.RemoveWriter(t.Name()) })
}

func (s *said) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.lines, want) {
		t.Errorf("errors in the log:\n  %s\nwant:\n  %s", strings.Join(s.lines, "\n  "), strings.Join(want, "\n  "))
	}
	s.lines = nil
}

func TestSkippedHook(t *testing.T) {
	r := newRig(t, map[string]string{"install": "exit 7"})
	r.start()
	r.settle(nil)
	r.expect("install")
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedNoHooks })
	r.expect("config-changed", "start")
	if r.c.unit.Resolved != entity.ResolvedNone {
		t.Error("the user's request was not taken back")
	}
	r.c.mu.Lock()
	r.c.statuses = slices.DeleteFunc(r.c.statuses, func(s string) bool { return strings.HasPrefix(s, "agent ") })
	r.c.mu.Unlock()
	// The failure hides the status before it until it is resolved.
	r.expectStatuses("workload maintenance: installing charm software", `workload error: hook failed: "install"`,
		"workload maintenance: installing charm software", "workload unknown")
}

// The record of the failure is lost with its machine; the status that shows it is not.
func TestFailedHookOfALostMachine(t *testing.T) {
	r := newRig(t, map[string]string{"install": "[ -e ../second ]"})
	r.start()
	r.settle(nil)
	r.stop()
	for _, name := range []string{"state", "charm"} {
		if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	r.settle(nil)
	r.expect("install", "install")
	if err := os.WriteFile(filepath.Join(r.dir, "second"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	if r.c.workload.Status != entity.StatusUnknown {
		t.Errorf("workload's status is %+v", r.c.workload)
	}
}

// The commit of what a hook has buffered is refused: the hook has failed.
func TestRefusedCommit(t *testing.T) {
	r := newRig(t, map[string]string{"start": "open-port 80"})
	r.c.refuse["CommitHook"] = entity.Errorf(entity.InUse, "port ranges 80/tcp and 80/tcp conflict")
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	if want := "cannot commit its changes: port ranges 80/tcp and 80/tcp conflict"; r.c.workload.Data["reason"] != want {
		t.Errorf("workload's status is %+v, want reason %q", r.c.workload, want)
	}
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	r.expect("start")
	if len(r.c.ports["web/0"]) != 1 {
		t.Errorf("open ports: %v", r.c.ports)
	}
}

// Only the agent's own message is replaced when the unit has started: a charm may go on with what it says itself.
func TestStartKeepsAStatusOfTheCharm(t *testing.T) {
	r := newRig(t, map[string]string{"start": `status-set maintenance "filling caches"`})
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	if r.c.workload.Status != entity.StatusMaintenance || r.c.workload.Message != "filling caches" {
		t.Errorf("workload's status is %+v", r.c.workload)
	}
}

func TestDyingUnitThatHasRunNoHook(t *testing.T) {
	r := newRig(t, nil)
	r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.c.relations[4] = newRelation(4, "db", "mysql", map[string]int64{"mysql/1": 1})
	r.c.relations[3].info.InScope = true
	r.c.unit.Life, r.c.unit.Subordinates = entity.Dying, []string{"log/0"}
	r.start()
	r.settle(nil)
	r.c.change(func() { r.c.unit.Subordinates = nil })
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) || r.c.unit.Life != entity.Dead ||
		r.c.relations[3].info.InScope {
		t.Errorf("the unit is %s, in scope: %v; its agent ended with %v", r.c.unit.Life, r.c.relations[3].info.InScope, err)
	}
	r.expect()
}

// A principal enters a container scope before its old subordinate is gone. It is refused, and
// tries again when something has changed.
func TestScopeThatCannotBeEnteredYet(t *testing.T) {
	r := newRig(t, nil)
	r.c.unit.Subordinates = []string{"log/0"}
	r.c.relations[3] = newRelation(3, "db", "mysql", nil)
	var tries atomic.Int32
	r.c.onCall = func(method string, do func() error) error {
		if method == "EnterScope" {
			tries.Add(1)
			r.c.mu.Lock()
			refused := len(r.c.unit.Subordinates) > 0
			r.c.mu.Unlock()
			if refused {
				return entity.Errorf(entity.CannotEnterYet,
					"cannot enter scope yet: non-alive subordinate unit has not been removed")
			}
		}
		return do()
	}
	r.start()
	r.settle(nil)
	if r.c.relations[3].info.InScope {
		t.Fatal("the unit is in scope")
	}
	before := tries.Load()
	r.c.change(func() { r.c.unit.Subordinates = nil })
	r.c.await(t, "the unit to enter", func() bool { return r.c.relations[3].info.InScope })
	if before == 0 || before > 3 { // the first events of the watches may come between
		t.Errorf("it tried %d times before anything changed", before)
	}
}

func TestCharmThatCannotBeDeployed(t *testing.T) {
	r := newRig(t, nil)
	r.c.change(func() { r.c.unit.ServiceCharmURL = "local:web-9" })
	r.start()
	if err := r.end(); err == nil || errors.Is(err, worker.ErrFatal) ||
		strings.Count(err.Error(), "cannot deploy charm") != 1 {
		t.Errorf("the agent ended with %v", err)
	}
	if r.c.agent.Status != entity.StatusFailed ||
		!strings.HasPrefix(r.c.agent.Message, `cannot deploy charm "local:web-9": `) {
		t.Errorf("agent's status is %+v", r.c.agent)
	}
	// The user sets another charm.
	r.c.change(func() { r.c.unit.ServiceCharmURL = "local:web-1" })
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
}

// When the connection is lost the uniter ends. Its next run continues.
func TestWatchesEnd(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	lost := errors.New("connection lost")
	r.cancel(lost)
	if err := r.end(); !errors.Is(err, lost) {
		t.Errorf("the agent ended with %v", err)
	}
}

func TestUnreadableStateIsNotAFreshStart(t *testing.T) {
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	r.stop()
	r.hooks()
	if err := os.WriteFile(filepath.Join(r.dir, "state", stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	if err := r.end(); err == nil || !strings.Contains(err.Error(), stateFile) {
		t.Errorf("the agent ended with %v", err)
	}
	r.expect()
}

// The machine of a subordinate is that of its principal, which its agent knows.
func TestSubordinatesEnvironment(t *testing.T) {
	r := newRig(t, map[string]string{"start": `echo "$JUJU_MACHINE_ID $JUJU_PRINCIPAL_UNIT" >../env`})
	r.c.unit.Machine, r.c.unit.Principal = "", "main/0"
	r.config.Context.Machine = "4"
	r.start()
	r.settle(nil)
	if got := r.file("env"); got != "4 main/0\n" {
		t.Errorf("the hook's environment has %q", got)
	}
	r.c.change(func() { r.c.unit.OrphanedBySubRel = true })
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) {
		t.Errorf("the agent ended with %v", err)
	}
	r.expect("install", "config-changed", "start", "stop")
}

var _ runner = processRunner{(*hooks.Runner)(nil)}
