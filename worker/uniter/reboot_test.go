package uniter

import (
	"slices"
	"testing"

	"juju/state/entity"
)

// boots makes the rig's machine one that can be restarted, in the boot that the result points to.
func (r *rig) boots() *string {
	boot := "one"
	r.config.Context.CanReboot = true
	r.config.newHost = func(c Config) (*host, error) {
		h, err := newHost(c)
		if err == nil {
			h.boot = boot
		}
		return h, err
	}
	return &boot
}

// rebooting waits until the unit waits for the restart of its machine, which it has asked for in these
// boots.
func (r *rig) rebooting(boots ...string) {
	r.t.Helper()
	r.c.await(r.t, "the unit to wait for the restart", func() bool { return r.c.agent.Status == entity.StatusRebooting })
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if !slices.Equal(r.c.reboots, boots) {
		r.t.Errorf("asked for restarts in %q, want %q", r.c.reboots, boots)
	}
}

// A hook that calls juju-reboot --now runs again after the restart. Until then no hook runs, also if the
// agent restarts or the hook's reason is gone.
func TestRebootNow(t *testing.T) {
	r := newRig(t, map[string]string{
		"config-changed": "[ -e ../again ] || { touch ../again; open-port 80; juju-reboot --now; }; open-port 81"})
	boot := r.boots()
	r.start()
	r.rebooting("one")
	r.expect("install", "config-changed")
	r.c.change(func() { r.c.unit.ConfigVersion++ })
	r.stop()
	r.start()
	r.rebooting("one", "one")
	r.expect()
	r.stop()
	*boot = "two"
	r.start()
	r.settle(nil)
	r.expect("config-changed", "start")
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	want := entity.PortRange{From: 81, To: 81, Protocol: "tcp"}
	if open := r.c.ports["web/0"]; len(open) != 1 || open[0].PortRange != want {
		t.Errorf("ports %v, want %v", r.c.ports, want)
	}
	if len(r.c.reboots) != 2 || r.c.failure() != "" {
		t.Errorf("asked for restarts in %q; %s", r.c.reboots, r.c.failure())
	}
}

// A hook that calls juju-reboot ends first, and what it has changed is committed. After the restart
// the start hook runs again.
func TestRebootAfterAHook(t *testing.T) {
	r := newRig(t, map[string]string{"start": "[ -e ../again ] || { touch ../again; open-port 80; juju-reboot; }"})
	boot := r.boots()
	r.start()
	r.rebooting("one")
	r.expect("install", "config-changed", "start")
	r.c.mu.Lock()
	if len(r.c.ports["web/0"]) != 1 {
		t.Errorf("ports %v", r.c.ports)
	}
	r.c.mu.Unlock()
	r.stop()
	*boot = "two"
	r.start()
	r.settle(nil)
	r.expect("start", "config-changed")
}

// The restart that a failing hook has asked for, with juju-reboot alone, does not happen.
func TestNoRebootAfterAFailedHook(t *testing.T) {
	r := newRig(t, map[string]string{"start": "juju-reboot; exit 1"})
	r.boots()
	r.start()
	r.settle(nil)
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.failure() != `hook failed: "start"` || r.c.reboots != nil {
		t.Errorf("%s; asked for restarts in %q", r.c.failure(), r.c.reboots)
	}
}

// A machine that restarts by itself makes its units run start again.
func TestStartRunsAgainAfterARestartOfTheMachine(t *testing.T) {
	r := newRig(t, nil)
	boot := r.boots()
	r.start()
	r.settle(nil)
	r.expect("install", "config-changed", "start")
	r.stop()
	r.start()
	r.settle(nil)
	r.expect("config-changed")
	r.stop()
	*boot = "two"
	r.start()
	r.settle(nil)
	r.expect("start", "config-changed")
}

// A command of a user of the machine can restart it. With --now the command ends at once, and the user is told why;
// without, the restart comes after it, and what it has changed is committed.
func TestACommandRestartsTheMachine(t *testing.T) {
	for command, reply := range map[string]struct {
		code   int
		stderr string
		ports  int
	}{
		"open-port 80; juju-reboot --now; open-port 81": {1, "ERROR the hook waits for the machine's restart\n", 0},
		"open-port 80; juju-reboot; open-port 81":       {0, "", 2},
	} {
		t.Run(command, func(t *testing.T) {
			r := newRig(t, nil)
			r.boots()
			r.start()
			r.settle(nil)
			r.expectRun(reply.code, "", reply.stderr, "web/0", command)
			r.rebooting("one")
			r.c.mu.Lock()
			defer r.c.mu.Unlock()
			if got := r.c.ports["web/0"]; len(got) != reply.ports {
				t.Errorf("open ports: %v", got)
			}
		})
	}
}
