package controller

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"juju/agent"
	"juju/agent/agenttest"
	"juju/doc/tools/verify"
	"juju/provider"
	"juju/provider/dummytest"
	"juju/provider/local"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

var patience = verify.Patience

// builtDir is the directory of the binaries that tests run as processes.
var builtDir string

func TestMain(m *testing.M) {
	if text := os.Getenv(mortalVariable); text != "" {
		runMortal(text)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "juju-bin")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir+"/", "juju/cmd/hook-tool", "juju/cmd/unit-agent")
	build.Stderr = os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, so that nothing is compiled twice
	if err := build.Run(); err != nil {
		panic(err)
	}
	builtDir = dir
	// Tests of whole systems mostly wait, so more of them run at a time than there are processors.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	return m.Run()
}

// absent is the placement of machines whose agents never come up.
const absent = "valid"

// A system is a controller on the dummy cloud with all its agents, in this process.
type system struct {
	*testing.T
	ctx   context.Context
	c     *running
	cloud *dummytest.Cloud
	host  *agenttest.Host
	st    *state.State // of the user's model
	model string       // its UUID
	// machines has the directories of the machines' agents: "3-1234567" for machine 3.
	machines string
	stop     func() // stops the controller
	log      lately // see keepsLog
	nodes    *addedNodes
	begun    func() // if not nil, is called when a machine's agent has begun, before its instance is recorded
}

// memoryDir makes a directory in memory, if the host has a place for it: hundreds of agents in
// one process would wait for one disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "juju-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// newSystem bootstraps a controller and runs it until the test ends.
func newSystem(t *testing.T, o Options) *system { t.Helper(); return newSystemIn(t, "", o) }

// newSystemIn is newSystem with the store in the MongoDB that a URL names.
func newSystemIn(t *testing.T, url string, o Options) *system {
	t.Helper()
	return newSystemOn(t, url, o, nil)
}

// newSystemOn is newSystemIn with the agents of units as processes, unless that is nil.
func newSystemOn(t *testing.T, url string, o Options, units *agenttest.Processes) *system {
	t.Helper()
	dir := memoryDir(t)
	s := &system{T: t, ctx: t.Context(), host: &agenttest.Host{Units: units, Options: agent.Options{
		HookTool: filepath.Join(builtDir, "hook-tool"), RetryDelay: 100 * time.Millisecond,
		IdleDelay: 50 * time.Millisecond}}}
	machines := memoryDir(t)
	s.machines = machines
	s.cloud = dummytest.New(func(_ context.Context, p provider.StartParams) (func(), error) {
		if p.Placement == absent {
			return func() {}, nil
		}
		dir, err := os.MkdirTemp(machines, p.MachineID+"-")
		if err != nil {
			return nil, err
		}
		if p.RunsController {
			return s.startNode(dir, p.AgentConfig)
		}
		stop, err := s.host.StartMachine(dir, p.MachineID, p.AgentConfig)
		if err != nil {
			return nil, err
		}
		if s.begun != nil {
			s.begun()
		}
		return func() { stop(); os.RemoveAll(dir) }, nil
	})
	o.Open = s.cloud.Open
	o.State.PasswordCost = statetest.PasswordCost
	made, err := Bootstrap(s.ctx, dir, BootstrapParams{Name: "test", Cloud: "dummy", Series: "jammy",
		User: statetest.Admin, Password: statetest.Password, MongoURL: url}, o)
	s.ok(err)
	conf, err := readConfig(local.ControllerDir(dir))
	s.ok(err)
	s.c = &running{dir: dir, own: local.ControllerDir(dir), conf: conf, options: o}
	s.start()
	t.Cleanup(func() {
		s.host.Stop()
		if s.host.Units != nil {
			s.ok(s.host.Units.Burn(s.machines))
		}
		s.stop()
	})
	s.model = made.Models[DefaultModel]
	s.st, err = s.c.ctrl.Model(s.ctx, s.model)
	s.ok(err)
	return s
}

// start runs the controller, as another process would, until stop is called.
func (s *system) start() {
	s.Helper()
	ready, ended := make(chan struct{}), make(chan error, 1)
	s.c = &running{dir: s.c.dir, own: s.c.own, conf: s.c.conf, options: s.c.options,
		ready: sync.OnceFunc(func() { close(ready) })}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- s.c.run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("the controller ended with %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		s.Fatalf("the controller did not come up: %v", err)
	}
}

func (s *system) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until waits until the status is as wanted, checking it when something has changed.
func (s *system) until(what string, holds func(*entity.ModelStatus) bool) *entity.ModelStatus {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	events, err := s.st.Watches().Status(ctx)
	s.ok(err)
	var last *entity.ModelStatus
	for range events {
		last, err = s.st.Status(ctx)
		if err == nil && holds(last) {
			return last
		}
	}
	s.Fatalf("gave up waiting for %s; the last status was %+v", what, last)
	return nil
}

func (s *system) deploy(name, metadata string, units int, files ...string) {
	s.Helper()
	url := statetest.Charm(s.T, s.st, metadata, files...)
	_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: units})
	s.ok(err)
}

// units returns the number of units whose agent is idle, and of all units.
func units(m *entity.ModelStatus) (idle, all int) {
	for _, svc := range m.Services {
		for _, u := range svc.Units {
			all++
			if u.Agent.Status == entity.StatusIdle {
				idle++
			}
		}
	}
	return idle, all
}

// outlasting are the collections of an empty model that are not empty: the model itself,
// numbers that are never used again, charms, histories for people, and the transaction runner's
// own.
var outlasting = []string{"model", "schema", "sequence", "charms", "statushistory", "txns", "txns.log", "txns.stash",
	"refusals"}

// empty reports whether nothing is left. A transaction becomes visible document by document, so
// if this fails, try again at the next event.
func (s *system) empty(m *entity.ModelStatus) bool {
	if len(m.Machines)+len(m.Services)+len(m.Relations) > 0 {
		return false
	}
	db := s.c.store.Open(s.st.UUID())
	defer db.Close(nil)
	counts, err := db.Counts(s.ctx)
	s.ok(err)
	for collection, n := range counts {
		if n > 0 && !slices.Contains(outlasting, collection) {
			return false
		}
	}
	return true
}
