package hooks

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debug begins to debug hooks of the rig's unit: each runs script in a shell instead. The channel
// gets the hooks' names; end ends it.
func (r *rig) debug(script string, names ...string) (ran <-chan string, end func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	ready, done, hooks := make(chan struct{}), make(chan error, 1), make(chan string, 100)
	go func() {
		done <- DebugHooks(ctx, r.params.RunDir, names, func() { close(ready) }, func(ctx context.Context, h DebuggedHook) int {
			hooks <- h.Name
			cmd := exec.CommandContext(ctx, "sh", "-c", script)
			cmd.Dir, cmd.Env = h.Dir, h.Env
			if err := cmd.Run(); err != nil && cmd.ProcessState == nil && ctx.Err() == nil {
				r.t.Error(err)
			}
			return max(cmd.ProcessState.ExitCode(), 0)
		})
	}()
	<-ready
	return hooks, func() {
		r.t.Helper()
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
}

// A shell runs in place of the hooks that a user debugs, with their tools, and its exit code is
// that of the hook. Other hooks run as usual.
func TestDebuggedHooks(t *testing.T) {
	r := newRig(t, map[string]string{"start": "echo charm >>ran", "config-changed": "echo charm >>ran"})
	ran, end := r.debug(`echo "$JUJU_HOOK_NAME" >>ran; test -d "$JUJU_DEBUG" && open-port 81; exit ${CODE:-0}`, "start", "stop")
	hook := r.mustRun(Info{Kind: Start})
	if got := hook.Changes().OpenPorts; len(got) != 1 || got[0].From != 81 {
		t.Errorf("the shell's tools have changed %v", got)
	}
	r.mustRun(Info{Kind: ConfigChanged})
	r.mustRun(Info{Kind: Stop}) // which the charm does not have
	if got, want := r.read("ran"), "start\ncharm\nstop\n"; got != want {
		t.Errorf("what ran is %q, want %q", got, want)
	}
	if len(ran) != 2 || <-ran != "start" || <-ran != "stop" {
		t.Error("other hooks were debugged than start and stop")
	}
	second := DebugHooks(t.Context(), r.params.RunDir, nil, func() {}, nil)
	if !errors.Is(second, ErrDebugged) {
		t.Errorf("a second user gets %v", second)
	}
	end()
	r.mustRun(Info{Kind: Start})
	if !strings.HasSuffix(r.read("ran"), "stop\ncharm\n") {
		t.Errorf("after the end, what ran is %q", r.read("ran"))
	}
	// All hooks; they fail as the shell does.
	_, end = r.debug("exit 7")
	_, err := r.run(Info{Kind: ConfigChanged})
	var failed *FailedError
	if !errors.As(err, &failed) || failed.ExitCode != 7 {
		t.Errorf("a shell that exits with 7: %v", err)
	}
	end()
	// A session whose process was killed has left its socket.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(r.params.RunDir, "debug.socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	r.mustRun(Info{Kind: ConfigChanged})
	_, end = r.debug("exit 0")
	end()
}

// A user is told what the charm runs for a hook: with a dispatch, that alone.
func TestDebuggedHooksAreNamed(t *testing.T) {
	r := newRig(t, map[string]string{"start": "exit 1"})
	dir := r.params.CharmDir
	if err := os.MkdirAll(filepath.Join(dir, "actions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"actions/backup", "dispatch"} {
		for path, want := range map[string]string{"hooks/start": "./hooks/start", "actions/backup": "./actions/backup", "hooks/stop": ""} {
			if file == "dispatch" {
				want = "./dispatch"
			} else if err := os.WriteFile(filepath.Join(dir, file), nil, 0o700); err != nil {
				t.Fatal(err)
			}
			if got := charmProgram(dir, []string{"A=b", "JUJU_DISPATCH_PATH=" + path}); got != want {
				t.Errorf("the program of %s is %q, want %q", path, got, want)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "dispatch"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// A hook whose session ends fails; a shell whose hook is ended is ended too.
func TestDebuggedHooksEndTogether(t *testing.T) {
	r := newRig(t, map[string]string{"start": "exit 0"})
	ran, end := r.debug("exec sleep 1000", "start")
	go func() {
		<-ran
		end()
	}()
	_, err := r.run(Info{Kind: Start})
	var failed *FailedError
	if !errors.As(err, &failed) || failed.LastLine != "ERROR juju debug-hooks has ended before the shell was left" {
		t.Errorf("after the end of the session: %v", err)
	}

	ran, end = r.debug(`echo $$ >pid; exec sleep 1000`, "start")
	ctx, abort := WithAbort(t.Context())
	go func() {
		<-ran
		abort()
	}()
	if _, err := r.runWith(ctx, Info{Kind: Start}); !errors.As(err, &failed) || failed.Reason != "aborted" {
		t.Errorf("an aborted hook: %v", err)
	}
	end() // which waits for the shell
	if _, err := os.Stat(filepath.Join(r.params.RunDir, "debug.socket")); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// A session ends when its unit's agent is removed with its directory.
func TestDebuggingEndsWithTheAgent(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "agents", "unit-x-0", "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	err := DebugHooks(t.Context(), run, nil, func() {
		hidden := filepath.Join(dir, "agents", ".unit-x-0")
		if err := os.Rename(filepath.Dir(run), hidden); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(hidden); err != nil {
			t.Error(err)
		}
	}, nil)
	if !errors.Is(err, ErrAgentRemoved) {
		t.Errorf("it ends with %v", err)
	}
}
