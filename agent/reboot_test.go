package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"

	"juju/agent/host/lockfile"
	"juju/doc/tools/verify"
	"juju/hooks"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/machineactions"
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
	config := Config{Tag: entity.MachineTag("0"), Password: "p", Model: "m", Addresses: []string{"a"}, CACert: "c"}
	dir := Dir(r.root, config.Tag)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	machine := newDeployed(t.Context(), filepath.Dir(dir), nil, config, nil)
	web := config
	web.Tag, web.Machine = entity.UnitTag("web/0"), "0"
	principal := newDeployed(t.Context(), filepath.Dir(dir), nil, web, nil)
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
	r.a = &Agent{commands: semaphore.NewWeighted(machineactions.AtOnce), dir: dir, kind: entity.KindMachine, config: config}
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

// statuses are what a machine's agent has said of its machine.
type statuses chan entity.Status

func (s statuses) SetMachineStatus(_ context.Context, _ entity.Tag, status entity.Status) error {
	s <- status
	return nil
}

// restart runs the worker restart, of which said gets what it says of the machine. The channel receives
// its error.
func (r *rebooter) restart(ctx context.Context, said statuses) <-chan error {
	asked, done := make(chan struct{}), make(chan error, 1)
	close(asked)
	go func() { done <- r.a.restart(said, asked)(ctx) }()
	return done
}

// While a hook runs, the agent works on, and the machine's status says what its restart waits for. A user
// may hold a hook for hours, by juju debug-hooks.
func TestARestartWaitsForTheHook(t *testing.T) {
	r := newRebooter(t, "")
	over, err := hooks.LockMachine(t.Context(), r.a.hookLock(), "hook install of web/0", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	said := make(statuses)
	done := r.restart(t.Context(), said)
	want := entity.Status{Status: entity.StatusStarted, Message: "the restart waits: hook install of web/0 runs"}
	select {
	case got := <-said:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	case err := <-done:
		t.Fatalf("ended with %v while a hook ran", err)
	}
	over.Unlock()
	if err := <-done; !errors.Is(err, worker.ErrReboot) {
		t.Errorf("ended with %v, want ErrReboot", err)
	}
	r.a.lock.Unlock()

	// The agent may be stopped meanwhile, and its machine destroyed.
	if over, err = hooks.LockMachine(t.Context(), r.a.hookLock(), "a hook", func(string) {}); err != nil {
		t.Fatal(err)
	}
	defer over.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	done = r.restart(ctx, said)
	<-said
	cancel()
	if err := <-done; errors.Is(err, worker.ErrReboot) {
		t.Errorf("ended with %v", err)
	}
}

// The units stop before the machine restarts, those of principals first. No other hook begins until the
// machine is down.
func TestUnitsStopBeforeTheMachineRestarts(t *testing.T) {
	r := newRebooter(t, "")
	if err := <-r.restart(t.Context(), nil); !errors.Is(err, worker.ErrReboot) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.a.reboot(ctx, r.stop) }()
	if got, err := os.ReadFile(filepath.Join(r.root, "down")); string(got) != "-r now\n" || err != nil { // waits for the program
		t.Errorf("shutdown was called with %q, %v", got, err)
	}
	r.mu.Lock()
	if len(r.stopped) != 3 || r.stopped[2] != "unit-log-0" ||
		!slices.Contains(r.stopped, "unit-web-0") || !slices.Contains(r.stopped, "unit-store-0") {
		t.Errorf("stopped %q", r.stopped)
	}
	r.mu.Unlock()
	if held, err := lockfile.IsHeld(r.a.hookLock()); !held || err != nil {
		t.Errorf("another hook can begin: %v", err)
	}
	cancel() // as SIGTERM does
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What the program that restarts the machine leaves running has its output, and is not waited for.
func TestARestartDoesNotWaitForWhatItLeavesRunning(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	r := newRebooter(t, "sleep 600 & echo $! >"+pid)
	done := make(chan error, 1)
	go func() { done <- runProgramOfHost(t.Context(), "shutdown", "-r", "now") }()
	if _, err := os.ReadFile(filepath.Join(r.root, "down")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
		_ = syscall.Kill(id, syscall.SIGKILL)
	case <-time.After(verify.Patience):
		t.Error("it waits")
		_ = syscall.Kill(id, syscall.SIGKILL)
		<-done
	}
}

// A machine whose units can't be stopped is not restarted yet.
func TestNoRestartWhileAUnitRuns(t *testing.T) {
	r := newRebooter(t, "")
	if err := <-r.restart(t.Context(), nil); !errors.Is(err, worker.ErrReboot) {
		t.Fatal(err)
	}
	stuck := errors.New("stuck")
	if err := r.a.reboot(t.Context(), func(context.Context, string) error { return stuck }); !errors.Is(err, stuck) {
		t.Error(err)
	}
}

// Where nothing can restart the machine, its units are left alone.
func TestAHostThatCannotBeRestarted(t *testing.T) {
	r := newRebooter(t, "")
	if err := <-r.restart(t.Context(), nil); !errors.Is(err, worker.ErrReboot) {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	err := r.a.reboot(t.Context(), r.stop)
	if err == nil || err.Error() != "cannot restart the machine: the host has no command shutdown" || len(r.stopped) > 0 {
		t.Errorf("it stops %q and says %v", r.stopped, err)
	}
}

// The status of a machine that can't be restarted says why, until another attempt a while later. Hooks run
// meanwhile.
func TestAFailedRestartIsTriedAgain(t *testing.T) {
	r := newRebooter(t, "echo no >&2; exit 1")
	if err := <-r.restart(t.Context(), nil); !errors.Is(err, worker.ErrReboot) {
		t.Fatal(err)
	}
	r.a.restartFailed = r.a.reboot(t.Context(), r.stop)
	synctest.Test(t, func(t *testing.T) {
		said, began := make(statuses), time.Now()
		done := r.restart(t.Context(), said)
		want := entity.Status{Status: entity.StatusStarted,
			Message: "cannot restart the machine: shutdown: exit status 1: no; trying again in 5m0s"}
		if diff := cmp.Diff(want, <-said); diff != "" {
			t.Error(diff)
		}
		over, err := hooks.LockMachine(t.Context(), r.a.hookLock(), "a hook", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		over.Unlock()
		if err := <-done; !errors.Is(err, worker.ErrReboot) || time.Since(began) != restartPause {
			t.Errorf("ended after %v with %v", time.Since(began), err)
		}
		r.a.lock.Unlock()
	})
}
