package uniter

import (
	"testing"

	"juju/hooks"
)

// A hook that waits for another of the machine goes on as soon as its service is exempt from that.
func TestAUnitThatWaitsBecomesExempt(t *testing.T) {
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
