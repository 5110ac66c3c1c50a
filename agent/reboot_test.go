package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"juju/hooks"
	"juju/state/entity"
)

// rebooter is a machine agent whose machine is restarted by a program that says so in a file.
type rebooter struct {
	t    *testing.T
	root string
	a    *Agent

	mu      sync.Mutex
	stopped []string
}

func newRebooter(t *testing.T, shutdown string) *rebooter {
	t.Helper()
	r := &rebooter{t: t, root: t.TempDir()}
	config := Config{Tag: entity.MachineTag("0"), Password: "p", Model: "m", Addresses: []string{"a"}, CACert: "c",
		HookLock: filepath.Join(r.root, "hooks.lock")}
	dir := Dir(r.root, config.Tag)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	machine := newDeployed(t.Context(), filepath.Dir(dir), nil, config)
	web := config
	web.Tag, web.Machine = entity.UnitTag("web/0"), "0"
	principal := newDeployed(t.Context(), filepath.Dir(dir), nil, web)
	for unit, d := range map[string]*deployed{"web/0": machine, "store/0": machine, "log/0": principal} {
		if err := d.configure(d.unitDir(unit), unitConfig(d, unit)); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(r.root, "bin")
	script := "#!/bin/sh\n" + shutdown + "\necho \"$*\" >" + r.root + "/down\n"
	if err := unix.Mkfifo(filepath.Join(r.root, "down"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "shutdown"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r.a = &Agent{dir: dir, kind: entity.KindMachine, config: config}
	return r
}

func unitConfig(d *deployed, unit string) Config {
	config := d.config
	config.Tag = entity.UnitTag(unit)
	if d.config.Tag.Kind == entity.KindUnit {
		config.Principal = d.config.Tag.ID
	} else {
		config.Machine = "0"
	}
	return config
}

func (r *rebooter) stop(_ context.Context, dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = append(r.stopped, filepath.Base(dir))
	return nil
}

// Before the machine restarts, the hook that runs ends and the units stop, those of principals first. No
// other hook begins until the machine is down.
func TestUnitsStopBeforeTheMachineRestarts(t *testing.T) {
	r := newRebooter(t, "")
	lock := r.a.config.HookLock
	over, err := hooks.LockMachine(t.Context(), lock, "a hook", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.a.reboot(ctx, r.stop) }()
	r.mu.Lock()
	if len(r.stopped) > 0 {
		t.Errorf("while a hook runs, stopped %q", r.stopped)
	}
	r.mu.Unlock()
	over()
	if got, err := os.ReadFile(filepath.Join(r.root, "down")); string(got) != "-r now\n" || err != nil { // waits for the program
		t.Errorf("shutdown was called with %q, %v", got, err)
	}
	r.mu.Lock()
	if len(r.stopped) != 3 || r.stopped[2] != "unit-log-0" ||
		!slices.Contains(r.stopped, "unit-web-0") || !slices.Contains(r.stopped, "unit-store-0") {
		t.Errorf("stopped %q", r.stopped)
	}
	r.mu.Unlock()
	soon, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := hooks.LockMachine(soon, lock, "another", func(string) {}); err == nil {
		t.Error("another hook can begin")
	}
	cancel() // as SIGTERM does
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A machine whose units can't be stopped is not restarted yet.
func TestNoRestartWhileAUnitRuns(t *testing.T) {
	r := newRebooter(t, "")
	stuck := errors.New("stuck")
	if err := r.a.reboot(t.Context(), func(context.Context, string) error { return stuck }); !errors.Is(err, stuck) {
		t.Error(err)
	}
}

// An agent whose machine can't be restarted fails, and so is started again.
func TestAFailedRestartIsTriedAgain(t *testing.T) {
	r := newRebooter(t, "echo no >&2; exit 1")
	err := r.a.reboot(t.Context(), r.stop)
	if err == nil || !strings.Contains(err.Error(), "cannot restart the machine: shutdown: exit status 1: no") {
		t.Error(err)
	}
}
