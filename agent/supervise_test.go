package agent

import (
	"fmt"
	"os"
	"testing"

	"juju/agent/host/process"
	"juju/state/entity"
)

// With hostVariable set this program is an agent whose directory is removed.
func TestMain(m *testing.M) {
	dir := os.Getenv(hostVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := process.Hold(dir); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Println(err)
	}
	os.Exit(1)
}

// The supervisor of an agent whose directory is gone ends, and says so. The machine is not manual: if this fails,
// the test must not remove what is on the host.
func TestSuperviseARemovedDirectory(t *testing.T) {
	t.Parallel()
	a := &Agent{dir: t.TempDir() + "/agent"}
	a.config.Tag = entity.MachineTag("1")
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	want := "the supervisor of machine-1 ends: its directory was removed: " + a.dir
	if err := a.supervise(t.Context()); err == nil || err.Error() != want {
		t.Errorf("supervising: %v, want %s", err, want)
	}
}

// What belongs to the agent goes with it, but for what its owner logs in by.
func TestWhatGoesWithAMachinesAgent(t *testing.T) {
	a := &Agent{dir: "/var/lib/juju/agents/machine-1"}
	for _, c := range []struct {
		dir, program string
		goes         bool
	}{
		{a.dir, "unit-agent", true}, {a.dir, "mysqld", true}, {a.dir, "sshd", false}, {a.dir, "sshd-session", false},
		{a.dir, "dropbear", false}, {"/var/lib/juju/agents/machine-2", "mysqld", false},
	} {
		if got := a.leaves(c.dir, c.program); got != c.goes {
			t.Errorf("%s of %s goes: %v", c.program, c.dir, got)
		}
	}
}
