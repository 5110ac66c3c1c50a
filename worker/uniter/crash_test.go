package uniter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"juju/agent/host/process"
	"juju/charm"
	"juju/doc/tools/verify"
	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/uniter/localstate"
)

// agentDirVar makes the test binary an agent that can be killed, for the unit in this
// directory.
const agentDirVar = "UNITER_TEST_AGENT_DIR"

func agentMain(dir string) {
	hookTool = filepath.Join(dir, "hook-tool")
	c := newController()
	content, err := os.ReadFile(filepath.Join(dir, "charm.zip"))
	if err == nil {
		c.charms["local:web-1"] = archive{content, os.Getenv("UNITER_TEST_SHA256")}
		err = New(rigConfig(dir, c))(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
}

// An agent is killed while its hook runs. The next agent ends the hook, and counts it as
// failed.
func TestKilledInTheMiddleOfAHook(t *testing.T) {
	verify.Only(t, "kills real processes")
	r := newRig(t, map[string]string{"config-changed": `[ -e ../second ] || { : >../second; trap 'echo ended >>../log; exit 1' TERM; echo $$ >../pid; while :; do sleep 0.01; done; }`})
	charm := r.c.charms["local:web-1"]
	if err := os.WriteFile(filepath.Join(r.dir, "charm.zip"), charm.content, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(hookTool, filepath.Join(r.dir, "hook-tool")); err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(os.Args[0])
	agent.Env = append(os.Environ(), agentDirVar+"="+r.dir, "UNITER_TEST_SHA256="+charm.sha256)
	agent.Stderr = os.Stderr
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	r.awaitFile("pid")
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	agent.Wait()
	if _, err := os.Stat("/proc/" + strings.TrimSpace(r.file("pid"))); err != nil {
		t.Errorf("the hook didn't outlive its agent, so this proves nothing: %v", err)
	}
	r.start()
	r.settle(nil)
	if want := (map[string]any{"hook": "config-changed",
		"reason": "the agent was stopped before it was over"}); r.c.failure() == "" ||
		fmt.Sprint(r.c.workload.Data) != fmt.Sprint(want) {
		t.Errorf("workload's status is %+v", r.c.workload)
	}
	r.expect("install", "config-changed", "ended")
	r.settle(func() { r.c.unit.Resolved = entity.ResolvedRetry })
	r.expect("config-changed", "start")
}

// An agent dies when the controller has forgotten the user's request to retry a hook, and before
// the hook has begun. The next agent runs it.
func TestARequestToRetryOutlivesTheAgent(t *testing.T) {
	r := newRig(t, map[string]string{"start": "[ -e ../second ] || { : >../second; exit 1; }"})
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	var dead atomic.Bool
	r.c.change(func() {
		r.c.onCall = func(method string, do func() error) error {
			if dead.Load() {
				return errCrash
			}
			err := do()
			if method == "ClearResolved" {
				dead.Store(true)
				err = errCrash
			}
			return err
		}
		r.c.unit.Resolved = entity.ResolvedRetry
	})
	if err := r.end(); !errors.Is(err, errCrash) || !dead.Load() {
		t.Fatalf("the agent ended with %v", err)
	}
	r.expect()
	r.c.change(func() { r.c.onCall = nil })
	r.start()
	r.settle(nil)
	if r.c.failure() != "" {
		t.Errorf("workload's status is %+v", r.c.workload)
	}
	if got := r.hooks(); got[0] != "start" {
		t.Errorf("these hooks have run: %q", got)
	}
}

// errCrash is the error of every call between a crash and the next start.
var errCrash = errors.New("crashed")

// A crasher makes the agent die just before or just after something becomes durable, on the
// machine or at the controller.
type crasher struct {
	mu      sync.Mutex
	at      int // the moment; 0 for never
	n       int // moments so far
	crashed bool
	where   string
}

func (k *crasher) moment(what string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.crashed {
		return errCrash
	}
	if k.n++; k.n == k.at {
		k.crashed, k.where = true, what
		return errCrash
	}
	return nil
}

// around calls do, which makes something durable.
func (k *crasher) around(what string, do func() error) error {
	if err := k.moment("before " + what); err != nil {
		return err
	}
	err := do()
	if crash := k.moment("after " + what); crash != nil {
		return crash
	}
	return err
}

func (k *crasher) restart() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.crashed = false
}

// host returns a host that crashes when the crasher says so.
func (k *crasher) host(h *host) *host {
	h.store = crashingStore{h.store, k}
	h.runner = crashingRunner{h.runner, k}
	return h
}

type crashingStore struct {
	store
	k *crasher
}

func (s crashingStore) Write(state localstate.State) error {
	what := "the write of no operation"
	if op := state.Op; op != nil {
		what = fmt.Sprintf("the write of %s %s %s %s", op.Kind, op.Step, op.Name, op.Charm)
	}
	return s.k.around(what, func() error { return s.store.Write(state) })
}

type crashingRunner struct {
	runner
	k *crasher
}

func (r crashingRunner) Run(ctx context.Context, hctx *hooks.Context, persist func(hooks.Process) error) error {
	err := r.runner.Run(ctx, hctx, persist)
	if err == nil {
		err = r.k.moment("after the exit of " + hctx.HookName())
	}
	return err
}

// A drama is a unit's life in stages. Each begins when the agent has handled the one before.
// The last must end the unit.
type drama struct {
	c      *controller
	start  func() (end <-chan error)
	stages []func()
	k      *crasher
	local  bool // crashes only around what happens on the unit's own machine
}

// play plays the drama with the crash, and resolves every failed hook. It returns an error
// if the unit does not reach its end.
func (d *drama) play(t *testing.T) error {
	t.Helper()
	d.c.onCall = func(method string, do func() error) error {
		if d.local || method == "SetAgentStatus" { // which no one relies on
			return do()
		}
		return d.k.around(method, do)
	}
	stage, resolved := 0, 0
	var over bool    // the agent has ended
	var ending error // with this
	begin := func() {
		d.c.change(func() { over, d.c.agent = false, entity.Status{} })
		end := d.start()
		go func() {
			err := <-end
			d.c.change(func() { over, ending = true, err })
		}()
	}
	begin()
	for {
		var ended bool
		d.c.await(t, fmt.Sprintf("the end of stage %d", stage), func() bool {
			ended = over
			return over || d.c.agent.Status == entity.StatusIdle
		})
		switch {
		case ended && errors.Is(ending, worker.ErrTerminateAgent):
			return nil
		case ended && !errors.Is(ending, errCrash):
			return fmt.Errorf("in stage %d the agent ended with %w", stage, ending)
		case ended:
			d.k.restart()
			begin()
			continue
		}
		if failure := d.c.failure(); failure != "" {
			if resolved++; resolved > 3 {
				return fmt.Errorf("in stage %d: %s", stage, failure)
			}
			d.c.change(func() { d.c.agent, d.c.unit.Resolved = entity.Status{}, entity.ResolvedRetry })
			continue
		}
		if stage == len(d.stages) {
			return fmt.Errorf("the unit goes on living")
		}
		d.c.change(func() { d.c.agent = entity.Status{}; d.stages[stage]() })
		stage++
	}
}

// normal returns the log of a unit's hooks without what a crash may add: a second run of the
// hook in which it happened, and config-changed when the agent recovers. It keeps the
// config-changed that belongs to install or upgrade-charm.
func normal(log []string) []string {
	var n []string
	for i, line := range log {
		if i > 0 && log[i-1] == line {
			continue
		}
		if line == "config-changed" && (i == 0 || n[len(n)-1] != "install" && n[len(n)-1] != "upgrade-charm") {
			continue
		}
		n = append(n, line)
	}
	return n
}

// compare returns what is wrong with the log of a unit whose agent has crashed, or "".
func compare(log, undisturbed []string) string {
	if got, want := normal(log), normal(undisturbed); !slices.Equal(got, want) {
		return fmt.Sprintf("ran\n  %s\nwant, less repetitions,\n  %s", strings.Join(log, "\n  "), strings.Join(want, "\n  "))
	}
	// One more run of the interrupted hook, and one more config-changed.
	if len(log) > len(undisturbed)+2 {
		return fmt.Sprintf("ran too much:\n  %s", strings.Join(log, "\n  "))
	}
	return ""
}

// A crash at every write of a short life, and at every exit of a hook, with real hooks.
func TestCrashAnywhereWithRealHooks(t *testing.T) {
	verify.Only(t, "kills real processes")
	scripts := map[string]string{
		"start":              "open-port 80",
		"db-relation-joined": `relation-set user="$JUJU_REMOTE_UNIT"`,
		"db-relation-broken": "close-port 80; open-port 81",
	}
	life := func(t *testing.T, at int) (log []string, k *crasher) {
		r := newRig(t, scripts)
		k = &crasher{at: at}
		r.config.newHost = func(c Config) (*host, error) {
			h, err := newHost(c)
			if err == nil {
				h = k.host(h)
			}
			return h, err
		}
		r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
		d := &drama{c: r.c, k: k, local: true, start: func() <-chan error { r.start(); return r.done }, stages: []func(){
			func() { r.c.unit.Life = entity.Dying },
		}}
		err := d.play(t)
		r.cancel = nil
		if err != nil {
			t.Fatal(err)
		}
		log = r.hooks()
		if got := r.c.settings[3]["user"]; got != "mysql/0" {
			t.Errorf("relation-set has left %q", got)
		}
		if got := fmt.Sprint(r.c.ports["web/0"]); got != "[81/tcp]" {
			t.Errorf("open ports: %s", got)
		}
		if r.c.unit.Life != entity.Dead || r.c.relations[3].info.InScope {
			t.Errorf("the unit is %s, in scope: %v", r.c.unit.Life, r.c.relations[3].info.InScope)
		}
		return log, k
	}
	everyMoment(t, 3, life)
}

// everyMoment plays a life without a crash, then with one at each of its moments; in short
// tests at one of every few.
func everyMoment(t *testing.T, few int, life func(t *testing.T, at int) ([]string, *crasher)) {
	undisturbed, k := life(t, 0)
	t.Logf("%d moments; undisturbed: %s", k.n, strings.Join(undisturbed, ", "))
	if k.n < 20 {
		t.Fatalf("only %d moments", k.n)
	}
	step := 1
	if testing.Short() {
		step = few
	}
	for at := 1; at <= k.n; at += step {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			log, k := life(t, at)
			if k.where == "" {
				t.Fatal("nothing has crashed")
			}
			if wrong := compare(log, undisturbed); wrong != "" {
				t.Errorf("after a crash %s it %s", k.where, wrong)
			}
		})
	}
}

// A crash at every moment of a long life, with hooks that are only logged.
func TestCrashAnywhereInALongLife(t *testing.T) {
	life := func(t *testing.T, at int) ([]string, *crasher) {
		c, k, h := newController(), &crasher{at: at}, newNotedHost()
		config := Config{API: c, Leadership: c, Unit: entity.UnitTag("web/0"), IdleDelay: 1,
			newHost: func(Config) (*host, error) { return k.host(h.host()), nil }}
		members := func(id int, m map[string]int64) func() { return func() { c.relations[id].members = m } }
		d := &drama{c: c, k: k,
			start: func() <-chan error {
				done := make(chan error, 1)
				go func() { done <- New(config)(context.Background()) }()
				return done
			},
			stages: []func(){
				func() { c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1, "mysql/1": 1}) },
				func() { c.unit.ConfigVersion = 2 },
				members(3, map[string]int64{"mysql/1": 2, "mysql/2": 1}),
				func() { c.relations[4] = newRelation(4, "ring", "web", map[string]int64{"web/1": 1}) },
				func() { c.unit.ServiceCharmURL = "local:web-2" },
				func() { c.relations[3].info.Life = entity.Dying },
				func() { c.relations[5] = newRelation(5, "db", "mariadb", map[string]int64{"mariadb/0": 1}) },
				func() { c.unit.ServiceLife = entity.Dying },
			}}
		if err := d.play(t); err != nil {
			t.Fatal(err)
		}
		return h.log, k
	}
	everyMoment(t, 3, life)
}

// A notedHost has no disk and no processes: it logs its hooks, and keeps its state in
// memory.
type notedHost struct {
	mu     sync.Mutex
	log    []string
	memory localstate.State
	meta   *charm.Meta
	run    func(ctx context.Context, hctx *hooks.Context) error // what hooks do besides
	has    hooks.Implemented                                    // of the later hooks
	hasErr error                                                // of looking them up
}

func newNotedHost() *notedHost {
	meta, err := charm.ParseMeta([]byte(metadata))
	if err != nil {
		panic(err)
	}
	return &notedHost{meta: meta}
}

func (h *notedHost) host() *host {
	return &host{store: h, runner: notedRunner{h}, record: func(string) error { return nil },
		hooks:  func() (hooks.Implemented, error) { return h.has, h.hasErr },
		deploy: func(context.Context, string) (*charm.Meta, error) { return h.meta, nil }}
}

func (h *notedHost) Read() (localstate.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.memory, nil
}

func (h *notedHost) Write(s localstate.State) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.memory = s
	return nil
}

type notedRunner struct{ h *notedHost }

func (notedRunner) Close() error                       { return nil }
func (notedRunner) EndInterrupted(hooks.Process) error { return nil }

func (r notedRunner) Run(ctx context.Context, hctx *hooks.Context, persist func(hooks.Process) error) error {
	if err := persist(hooks.Process{Identity: process.Identity{PID: 1}}); err != nil {
		return err
	}
	line := hctx.HookName()
	if unit := r.h.memory.Op.Hook.RemoteUnit; unit != "" {
		line += " " + unit
	}
	r.h.mu.Lock()
	r.h.log = append(r.h.log, line)
	r.h.mu.Unlock()
	if r.h.run != nil {
		return r.h.run(ctx, hctx)
	}
	return nil
}
