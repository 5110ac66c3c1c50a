package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/entity"
)

// fakeHost records in which directories an agent runs.
type fakeHost struct {
	running map[string]bool
	waitErr error
	fail    error
}

func (h *fakeHost) Start(ctx context.Context, dir string) error {
	if h.fail != nil {
		return h.fail
	}
	h.running[dir] = true
	return nil
}

func (h *fakeHost) WaitEnd(ctx context.Context, dir string) error {
	if h.waitErr != nil {
		return h.waitErr
	}
	<-ctx.Done()
	return ctx.Err()
}

func (h *fakeHost) End(ctx context.Context, dir, why string) error {
	delete(h.running, dir)
	return nil
}

func testDeployed(t *testing.T, h *fakeHost) *deployed {
	t.Helper()
	h.running = map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	config := Config{Tag: entity.MachineTag("0"), Model: "m", Addresses: []string{"a"}, CACert: "c"}
	d := newDeployed(ctx, t.TempDir(), h, config, func() []string { return config.Addresses })
	t.Cleanup(func() {
		cancel()
		d.waits.Wait()
	})
	return d
}

func wantDeployed(t *testing.T, d *deployed, want ...string) {
	t.Helper()
	got, err := d.Deployed()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("deployed are %v (%v), want %v", got, err, want)
	}
}

// A deployment or a recall that was interrupted leaves a hidden directory, which the next one
// replaces, and which a sweep removes. Those of another agent are left to that, unless it is gone.
func TestInterruptedDeploymentIsRepeated(t *testing.T) {
	h := &fakeHost{}
	d := testDeployed(t, h)
	leave := func(whose, unit string) string {
		t.Helper()
		left := filepath.Join(d.dir, "."+whose+"."+entity.UnitTag(unit).String())
		if err := os.MkdirAll(filepath.Join(left, "charm"), 0o700); err != nil {
			t.Fatal(err)
		}
		return left
	}
	leave("machine-0", "mysql/0")
	wantDeployed(t, d)
	if err := d.Deploy(t.Context(), "mysql/0", "secret"); err != nil {
		t.Fatal(err)
	}
	wantDeployed(t, d, "mysql/0")
	config, err := ReadConfig(d.unitDir("mysql/0"))
	if err != nil || config.Password != "secret" || config.Machine != "0" {
		t.Errorf("configuration %v, %v", config, err)
	}
	theirs := leave("unit-mysql-0", "log/0")
	mine, gone := leave("machine-0", "mysql/1"), leave("unit-mysql-9", "log/9")
	if err := d.sweep(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{mine, gone} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("another agent's work was taken away: %v", err)
	}
	wantDeployed(t, d, "mysql/0")
	os.RemoveAll(theirs)

	leave("machine-0", "mysql/0")
	if err := d.Recall(t.Context(), "mysql/0"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(d.dir); err != nil || len(entries) > 0 || len(h.running) > 0 {
		t.Errorf("left are %v, %v, running %v", entries, err, h.running)
	}
}

// Users find the log of each unit of a machine of its own in one directory, as long as the unit is
// there.
func TestLogsAreLinked(t *testing.T) {
	d := testDeployed(t, &fakeHost{})
	d.config.LogDir = filepath.Join(t.TempDir(), "log", "juju")
	link := filepath.Join(d.config.LogDir, "unit-mysql-0.log")
	for range 2 { // a deployment is repeated after an interruption
		if err := d.Deploy(t.Context(), "mysql/0", "secret"); err != nil {
			t.Fatal(err)
		}
		if at, err := os.Readlink(link); err != nil || at != filepath.Join(d.unitDir("mysql/0"), "log") {
			t.Errorf("%s leads to %q, %v", link, at, err)
		}
	}
	if config, err := ReadConfig(d.unitDir("mysql/0")); err != nil || config.LogDir != d.config.LogDir {
		t.Errorf("the agents of subordinates have %q, %v", config.LogDir, err)
	}
	for range 2 {
		if err := d.Recall(t.Context(), "mysql/0"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(link); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", link, err)
		}
	}
}

// All agents of a machine are side by side, but each looks only after those that it has deployed.
// When a principal is recalled, by force say, its subordinates' agents go too.
func TestAgentsAreSiblings(t *testing.T) {
	h := &fakeHost{}
	machine := testDeployed(t, h)
	deploy := func(d *deployed, unit string) {
		t.Helper()
		if err := d.Deploy(t.Context(), unit, "secret"); err != nil {
			t.Fatal(err)
		}
	}
	deploy(machine, "mysql/0")
	deploy(machine, "web/0")
	config, err := ReadConfig(machine.unitDir("mysql/0"))
	if err != nil {
		t.Fatal(err)
	}
	principal := newDeployed(machine.ctx, machine.dir, h, config, machine.addresses)
	t.Cleanup(principal.waits.Wait)
	deploy(principal, "log/0")
	wantDeployed(t, machine, "mysql/0", "web/0")
	wantDeployed(t, principal, "log/0")
	config, err = ReadConfig(principal.unitDir("log/0"))
	if err != nil || config.Principal != "mysql/0" || config.Machine != "0" {
		t.Errorf("configuration %v, %v", config, err)
	}
	entries, err := os.ReadDir(machine.dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("side by side are %v, %v", entries, err)
	}
	if err := machine.Recall(t.Context(), "mysql/0"); err != nil {
		t.Fatal(err)
	}
	wantDeployed(t, machine, "web/0")
	wantDeployed(t, principal)
	if len(h.running) != 1 {
		t.Errorf("running are %v", h.running)
	}
}

// An agent whose end can't be waited for is looked after nevertheless.
func TestAgentThatCannotBeWaitedFor(t *testing.T) {
	h := &fakeHost{waitErr: errors.New("too many open files")}
	d := testDeployed(t, h)
	if err := d.Deploy(t.Context(), "mysql/0", "secret"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.Ended():
	case <-time.After(verify.Patience):
		t.Error("the deployer was not signalled")
	}
}
