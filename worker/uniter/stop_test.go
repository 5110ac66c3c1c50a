package uniter

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"juju/state/entity"
	"juju/worker"
)

func TestAgentToldToStopLetsItsHookFinish(t *testing.T) {
	r := newRig(t, map[string]string{"start": "open-port 80; : >../started; while [ ! -e ../go ]; do sleep 0.01; done"})
	r.start()
	r.awaitFile("started")
	r.cancel(errors.New("told to stop"))
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

func TestAgentToldToStopEndsASlowHook(t *testing.T) {
	r := newRig(t, map[string]string{"start": ": >../started; exec sleep 100"})
	r.config.Hooks.StopTimeout = 50 * time.Millisecond
	r.start()
	r.awaitFile("started")
	r.stop()
	r.hooks()
	r.start()
	r.settle(nil)
	r.expect()
	if r.c.failure() != `hook failed: "start"` {
		t.Errorf("workload's status is %+v", r.c.workload)
	}
}

// awaitFile waits until a hook has made a file.
func (r *rig) awaitFile(name string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("there is no file %s", name)
		}
	}
}

func TestForceEndsARunningHook(t *testing.T) {
	r := newRig(t, map[string]string{"db-relation-changed": ": >../started; exec sleep 100"})
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
	r := newRig(t, map[string]string{"start": ": >../started; exec sleep 100"})
	r.start()
	r.awaitFile("started")
	r.c.change(func() { r.c.gone = true })
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) {
		t.Errorf("the agent ended with %v", err)
	}
}
