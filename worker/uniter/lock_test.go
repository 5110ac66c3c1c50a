package uniter

import (
	"sync"
	"testing"

	"juju/hooks"
	"juju/state/entity"
)

// A hook that waits for another of the machine goes on as soon as its service is exempt from that.
func TestAUnitThatWaitsBecomesExempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	lock, err := hooks.LockMachine(t.Context(), r.config.Hooks.LockPath, "another", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	r.start()
	r.c.await(t, "the hook to wait", func() bool {
		return r.c.agent.Message == "waiting to run install hook: the machine lock is held by another"
	})
	r.settle(func() { r.c.exempt = "store," + r.c.unit.Service })
	r.expect("install", "config-changed", "start")
}

// A unit whose service is named in host-lock waits for the hooks of other machines on the host; another one does not.
func TestAUnitThatNeedsTheHostWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	lock, err := hooks.LockMachine(t.Context(), r.config.Hooks.HostLockPath, "another", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	unlock := sync.OnceFunc(lock.Unlock)
	defer unlock()
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	r.c.change(func() { r.c.hostLock = r.c.unit.Service })
	r.c.change(func() { r.c.unit.ConfigVersion++ })
	r.c.await(t, "the hook to wait", func() bool {
		return r.c.agent.Message == "waiting to run config-changed hook: the host lock is held by another"
	})
	unlock()
	r.settle(nil)
	r.expect("config-changed")
}

// A task that waits for the machine's hooks says so, and says when it runs at last.
func TestATaskThatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.start()
	r.settle(nil)
	lock, err := hooks.LockMachine(t.Context(), r.config.Hooks.LockPath, "another", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	unlock := sync.OnceFunc(lock.Unlock)
	defer unlock()
	r.c.change(func() { r.c.statuses = nil })
	r.add(command("5", "true"))
	const waiting = "waiting to run action juju-run: the machine lock is held by another"
	r.c.await(t, "the task to wait", func() bool { return r.c.agent.Message == waiting })
	unlock()
	r.awaitTask("5", entity.TaskCompleted)
	r.settle(nil)
	r.expectStatuses("agent executing: running commands", "agent executing: "+waiting,
		"agent executing: running commands", "agent idle")
}
