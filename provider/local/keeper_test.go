package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"juju/agent/host/lockfile"
	"juju/agent/host/process"
	"juju/doc/tools/verify"
)

func keeperConfig(dir, controller string) KeeperConfig {
	return KeeperConfig{
		Dir: dir, Controller: controller, Bound: verify.Patience,
		Jujud:  Command{Path: os.Args[0], Args: []string{dir}, Env: []string{roleVariable + "=jujud"}},
		Keeper: Command{Path: os.Args[0], Args: []string{dir, controller}, Env: []string{roleVariable + "=keeper"}},
	}
}

func (h *host) keeper() KeeperConfig {
	k := keeperConfig(h.dir, h.controller)
	k.Keeper.Env = append(k.Keeper.Env, notifyVariable+"="+h.conn.LocalAddr().String())
	return k
}

func (h *host) ensure(want bool) {
	h.t.Helper()
	started, err := EnsureKeeper(h.t.Context(), h.keeper())
	if err != nil || started != want {
		h.t.Fatalf("ensuring the keeper: started %v, error %v; want %v", started, err, want)
	}
}

func TestKeeper(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	h := newHost(t, newController())
	keeper, controller := KeeperDir(h.dir), ControllerDir(h.dir)
	h.ensure(true)
	h.hear("keeper")
	h.hear("jujud")
	h.ensure(false)
	agent := h.start(h.environ(h.cloud()), "0")
	pid := h.hear("machine 0")

	// The keeper restarts a killed controller.
	h.kill(controller)
	second := h.hear("jujud")
	// A controller outlives its keeper, and the next keeper adopts it.
	h.kill(keeper)
	process.WaitEnd(t.Context(), keeper)
	h.ensure(true)
	h.hear("keeper")
	if now := h.holder(controller); now != second {
		t.Errorf("the controller is process %d, want %d still", now, second)
	}
	h.kill(controller)
	h.hear("jujud")

	// Both are killed, but the agent is still running.
	h.kill(keeper)
	h.kill(controller)
	process.WaitEnd(t.Context(), keeper)
	process.WaitEnd(t.Context(), controller)
	h.ensure(true)
	h.hear("keeper")
	h.hear("jujud")
	if now := h.holder(h.agent(agent)); now != pid {
		t.Errorf("machine 0 has agent %d, want %d still", now, pid)
	}
	if left := h.marks(); len(left) != 3 {
		t.Errorf("got processes with marks %q, want a keeper, a controller and an agent", left)
	}

	if err := h.environ(h.cloud()).DestroyController(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if left := h.marks(); len(left) != 0 {
		t.Errorf("processes with marks %q are left", left)
	}
	if _, err := os.Stat(h.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// Many concurrent commands start only one keeper.
func TestManyEnsureOneKeeper(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	h := newHost(t, newController())
	results := make(chan bool)
	const callers = 4
	for range callers {
		go func() {
			started, err := EnsureKeeper(t.Context(), h.keeper())
			if err != nil {
				t.Error(err)
			}
			results <- started
		}()
	}
	count := 0
	for range callers {
		if <-results {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d of %d started the keeper", count, callers)
	}
	h.hear("keeper")
	h.hear("jujud")
	if left := h.marks(); len(left) != 2 {
		t.Errorf("got processes with marks %q", left)
	}
}

// A restarted controller may be slow: nobody waits for it, and killing it would only delay it.
func TestARestartedControllerMayBeSlow(t *testing.T) {
	verify.Only(t, "starts real processes and takes their time")
	t.Parallel()
	h := newHost(t, newController())
	config := h.keeper()
	config.Keeper.Env = append(config.Keeper.Env, boundVariable+"=1s")
	config.Jujud.Env = append(config.Jujud.Env, notifyVariable+"="+h.conn.LocalAddr().String())
	dir := ControllerDir(h.dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// The keeper finds the running controller, however short its timeout.
	if _, err := process.Start(t.Context(), config.spec(dir, "controller", config.Jujud, verify.Patience)); err != nil {
		t.Fatal(err)
	}
	h.hear("jujud")
	if _, err := EnsureKeeper(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	h.hear("keeper")
	release, err := lockfile.Take(t.Context(), filepath.Join(h.dir, slowName), "")
	if err != nil {
		t.Fatal(err)
	}
	h.kill(dir)
	pid := h.hear("slow jujud")
	h.conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := h.conn.Read(make([]byte, 4096)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a slow controller was restarted: %v", err)
	}
	release.Unlock()
	if now := h.hear("jujud"); now != pid {
		t.Errorf("the controller is process %d, want %d", now, pid)
	}
}

// When the controller terminates permanently, so does its keeper, and no command restarts them.
func TestKeeperEndsWithTheController(t *testing.T) {
	verify.Only(t, "kills real processes")
	t.Parallel()
	h := newHost(t, newController())
	h.ensure(true)
	if err := process.MarkEnded(ControllerDir(h.dir), "destroyed"); err != nil {
		t.Fatal(err)
	}
	h.kill(ControllerDir(h.dir))
	if err := process.WaitEnd(t.Context(), KeeperDir(h.dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureKeeper(t.Context(), h.keeper()); !errors.Is(err, process.ErrEnded) {
		t.Errorf("got error %v, want ErrEnded", err)
	}
	if left := h.marks(); len(left) != 0 {
		t.Errorf("processes with marks %q are left", left)
	}
}

// If the controller can't start, the caller gets the reason from its log.
func TestControllerThatDoesNotStart(t *testing.T) {
	verify.Only(t, "starts real processes and takes their time")
	t.Parallel()
	h := newHost(t, newController())
	dir := ControllerDir(h.dir)
	if err := os.MkdirAll(filepath.Join(dir, "lock"), 0o700); err != nil { // can't be locked
		t.Fatal(err)
	}
	_, err := EnsureKeeper(t.Context(), h.keeper())
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got error %v, want one that names %s", err, dir)
	}
	if left := h.marks(); len(left) != 0 {
		t.Errorf("processes with marks %q are left", left)
	}
}

func TestKeepRefusesASecond(t *testing.T) {
	verify.Only(t, "starts real processes and takes their time")
	t.Parallel()
	h := newHost(t, newController())
	h.ensure(true)
	if err := Keep(t.Context(), h.keeper()); !errors.Is(err, process.ErrHeld) {
		t.Errorf("a second keeper: got error %v, want ErrHeld", err)
	}
	if err := EndKeeper(t.Context(), h.dir, time.Second); err != nil {
		t.Fatal(err)
	}
	if left := h.marks(); len(left) != 0 {
		t.Errorf("processes with marks %q are left", left)
	}
}
