package hooks

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"juju/doc/tools/verify"
)

var patience = verify.Patience

// A rig is a unit with a charm, and what its hooks have done.
type rig struct {
	t       *testing.T
	dir     string
	params  RunnerParams
	runner  *Runner
	backend *fakeBackend
	log     *logRecorder

	mu      sync.Mutex
	started []Process // what record was given
	over    bool      // the test is
}

// newRig makes a unit whose charm has these hooks: shell scripts, by name.
func newRig(t *testing.T, hooks map[string]string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), backend: newBackend(), log: newLog()}
	r.params = rigParams(r.dir)
	r.params.Log = r.log.log
	writeCharm(t, r.params.CharmDir, hooks)
	r.open()
	t.Cleanup(r.close)
	t.Cleanup(r.end)
	return r
}

// rigParams lays a unit out below dir.
func rigParams(dir string) RunnerParams {
	return RunnerParams{
		CharmDir:     filepath.Join(dir, "charm"),
		ToolsDir:     toolsDir,
		RunDir:       filepath.Join(dir, "run"),
		LauncherPath: hookTool,
		LockPath:     filepath.Join(dir, "lock"),
		HostLockPath: filepath.Join(dir, "host"),
	}
}

func writeCharm(t *testing.T, dir string, hooks map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range hooks {
		if err := os.WriteFile(filepath.Join(dir, "hooks", name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// open starts the unit's agent, so to speak, in place of the one before.
func (r *rig) open() {
	r.t.Helper()
	r.close()
	runner, err := NewRunner(r.params)
	if err != nil {
		r.t.Fatal(err)
	}
	r.runner = runner
}

func (r *rig) close() {
	r.t.Helper()
	if r.runner != nil {
		if err := r.runner.Close(); err != nil {
			r.t.Error(err)
		}
		r.runner = nil
	}
}

// record notes a process before its hook begins. Once the test is over, none begins.
func (r *rig) record(p Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errors.New("the test is over")
	}
	r.started = append(r.started, p)
	return nil
}

// end kills what hooks have left, which is nothing unless the test has failed.
func (r *rig) end() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, p := range r.started {
		if left := processes(p.PID); len(left) > 0 {
			r.t.Errorf("hooks have left the processes %v", left)
			if err := p.end(0); err != nil {
				r.t.Error(err)
			}
		}
	}
}

// processes returns the members of a process group that have not ended, with their states.
func processes(group int) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pid, rest, _ := strings.Cut(string(text), " (")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		if fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			found = append(found, pid+" "+fields[0])
		}
	}
	return found
}

// run runs a hook to its end.
func (r *rig) run(info Info) (*Context, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.runWith(ctx, info)
}

func (r *rig) runWith(ctx context.Context, info Info) (*Context, error) {
	r.t.Helper()
	hctx, err := NewContext(r.backend, testParams(info))
	if err != nil {
		r.t.Fatal(err)
	}
	return hctx, r.runner.Run(ctx, hctx, r.record)
}

// mustRun runs a hook that must succeed.
func (r *rig) mustRun(info Info) *Context {
	r.t.Helper()
	hctx, err := r.run(info)
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", info, err, strings.Join(r.log.take(), "\n"))
	}
	return hctx
}

// read returns what a hook has written to a file of the charm directory.
func (r *rig) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.params.CharmDir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// A fifo lets a hook tell a test how far it is, or the other way round.
type fifo struct {
	t     *testing.T
	file  *os.File
	lines *bufio.Reader
}

func newFIFO(t *testing.T, path string) *fifo {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &fifo{t, f, bufio.NewReader(f)}
}

// next waits for the next line.
func (f *fifo) next() string {
	f.t.Helper()
	f.file.SetReadDeadline(time.Now().Add(patience))
	line, err := f.lines.ReadString('\n')
	if err != nil {
		f.t.Fatalf("the hook did not say anything: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (f *fifo) say(line string) {
	f.t.Helper()
	if _, err := f.file.WriteString(line + "\n"); err != nil {
		f.t.Fatal(err)
	}
}

// awaitGone waits until a process that is not the test's child has ended.
func awaitGone(t *testing.T, p Process) {
	t.Helper()
	for left := processes(p.PID); len(left) > 0; left = processes(p.PID) {
		pid, err := strconv.Atoi(strings.Fields(left[0])[0])
		if err != nil {
			t.Fatal(err)
		}
		awaitEnd(t, pid)
	}
}

// awaitEnd waits until a process has ended.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if n == 0 && err == nil {
			t.Fatalf("process %d is still there", pid)
		}
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func wantFailed(t *testing.T, err error, code int, reason string) {
	t.Helper()
	var failed *FailedError
	if !errors.As(err, &failed) {
		t.Fatalf("got error %v, want a failed hook", err)
	}
	if failed.ExitCode != code || failed.Reason != reason {
		t.Errorf("failed with %d %q, want %d %q", failed.ExitCode, failed.Reason, code, reason)
	}
}
