package uniter

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/worker"
)

// An agent that is told to stop waits for its hook, and says so. The hook's tools work meanwhile.
func TestStoppedAgentLetsItsHookFinish(t *testing.T) {
	r := newRig(t, map[string]string{"start": `
		: >../started
		while [ ! -e ../go ]; do sleep 0.01; done
		open-port 80
		[ -n "$(config-get title)" ]`})
	r.start()
	r.awaitFile("started")
	r.cancel(errors.New("told to stop"))
	r.awaitStopping("running start hook")
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err == nil || errors.Is(err, worker.ErrFatal) {
		t.Errorf("the agent ended with %v", err)
	}
	if len(r.c.ports["web/0"]) != 1 {
		t.Error("the hook that could finish was not committed")
	}
	r.expect("install", "config-changed", "start")
	r.start()
	r.settle(nil)
	r.expect("config-changed")
}

// awaitStopping waits until the agent says that it waits for what it runs before it stops.
func (r *rig) awaitStopping(what string) {
	r.t.Helper()
	r.c.await(r.t, "the agent to say what it waits for", func() bool {
		return r.c.agent.Message == what+", after which the agent stops or is upgraded"
	})
}

// A host that shuts down sends SIGTERM to the agent and to its hook. The hook has not failed, and runs again.
func TestAHookThatEndsWithItsHostRunsAgain(t *testing.T) {
	r := newRig(t, map[string]string{"start": "[ ! -e ../started ] || exit 0; echo $$ >../pid; : >../started; while :; do sleep 0.01; done"})
	r.start()
	r.awaitFile("started")
	r.cancel(errors.New("told to stop"))
	r.awaitStopping("running start hook")
	text, err := os.ReadFile(filepath.Join(r.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGTERM)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.end()
	r.hooks()
	r.start()
	r.settle(nil)
	r.expect("start", "config-changed")
	if r.c.failure() != "" {
		t.Errorf("workload's status is %+v", r.c.workload)
	}
}

// A unit that is destroyed with force while its agent waits for a hook does not wait for it.
func TestForceEndsAHookThatAStoppingAgentWaitsFor(t *testing.T) {
	r := newRig(t, map[string]string{"start": ": >../started; exec sleep 1000"})
	r.start()
	r.awaitFile("started")
	r.cancel(errors.New("told to stop"))
	r.awaitStopping("running start hook")
	r.c.change(func() { r.c.unit.Life, r.c.unit.Strength = entity.Dying, entity.Force })
	r.end()
}

// awaitFile waits until a hook has made a file.
func (r *rig) awaitFile(name string) {
	r.t.Helper()
	for deadline := time.Now().Add(verify.Patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("there is no file %s", name)
		}
	}
}

func TestForceEndsARunningHook(t *testing.T) {
	r := newRig(t, map[string]string{"db-relation-changed": ": >../started; exec sleep 600"})
	r.c.relations[3] = newRelation(3, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.start()
	r.awaitFile("started")
	r.c.change(func() { r.c.unit.Life, r.c.unit.Strength = entity.Dying, entity.Force })
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) {
		t.Errorf("the agent ended with %v", err)
	}
	r.expect("install", "config-changed", "start", "db-relation-joined mysql/0", "db-relation-changed mysql/0")
	if r.c.relations[3].info.InScope || r.c.unit.Life != entity.Dead {
		t.Errorf("the unit is %s, in scope: %v", r.c.unit.Life, r.c.relations[3].info.InScope)
	}
}

func TestRemovalEndsARunningHook(t *testing.T) {
	r := newRig(t, map[string]string{"start": ": >../started; exec sleep 600"})
	r.start()
	r.awaitFile("started")
	r.c.change(func() { r.c.gone = true })
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) {
		t.Errorf("the agent ended with %v", err)
	}
}
