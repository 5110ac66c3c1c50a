package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"juju/agent/host/lockfile"
	"juju/agent/host/process"
	"juju/doc/tools/verify"
	"juju/provider"
	"juju/provider/providertest"
)

// The tests run this binary as machine agent, controller and keeper, selected by these variables.
// The run is a directory that the tests lock, so that no process outlives them, even if they are
// killed.
const (
	roleVariable   = "LOCAL_TEST_ROLE"
	runVariable    = "LOCAL_TEST_RUN"
	notifyVariable = "LOCAL_TEST_NOTIFY"
	daemonVariable = "LOCAL_TEST_DAEMON"
	boundVariable  = "LOCAL_TEST_BOUND"
)

// slowName is a file in the host's directory; a controller does not start while it is locked.
const slowName = "slow"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	run, err := os.MkdirTemp("", "local")
	if err == nil {
		_, err = process.Hold(run)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(runVariable, run)
	code := m.Run()
	left := 0
	process.EndMarked(context.Background(), runVariable, func(value, _ string) bool {
		if value == run {
			left++
		}
		return value == run
	}, 0)
	if left > 0 {
		fmt.Fprintln(os.Stderr, "processes are left")
		code = 1
	}
	os.RemoveAll(run)
	os.Exit(code)
}

// play runs a helper process.
func play(role string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		process.WaitEnd(context.Background(), os.Getenv(runVariable))
		os.Exit(9)
	}()
	switch role {
	case "fail":
		return errors.New("no controller answers")
	case "agent":
		dir := args[len(args)-1]
		if _, err := process.Hold(dir); err != nil {
			return err
		}
		if os.Getenv(daemonVariable) != "" {
			if err := daemon(dir); err != nil {
				return err
			}
		}
		config, err := os.ReadFile(filepath.Join(dir, AgentConfigName))
		if err != nil {
			return err
		}
		if bytes.Contains(config, []byte("machine is Dead")) {
			return process.MarkEnded(dir, "the machine is Dead")
		}
		notify(string(config))
	case "daemon":
		signal.Ignore(syscall.SIGTERM) // a charm's daemon may ignore it
		notify("daemon")
		select {}
	case "jujud":
		if slow := filepath.Join(args[0], slowName); isFile(slow) {
			notify("slow jujud")
			release, err := lockfile.Take(ctx, slow, "")
			if err != nil {
				return err
			}
			release.Unlock()
		}
		if _, err := process.Hold(ControllerDir(args[0])); err != nil {
			return err
		}
		notify("jujud")
	case "keeper":
		notify("keeper")
		config := keeperConfig(args[0], args[1])
		if bound := os.Getenv(boundVariable); bound != "" {
			config.Bound, _ = time.ParseDuration(bound)
		}
		return Keep(ctx, config)
	}
	<-ctx.Done()
	return nil
}

// daemon leaves behind what a charm can: an orphan process in its own session, and a directory
// without write permission.
func daemon(dir string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=daemon")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	charm := filepath.Join(dir, "charm", "frozen")
	if err := os.MkdirAll(charm, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(charm, "file"), nil, 0o400); err != nil {
		return err
	}
	return errors.Join(os.Chmod(charm, 0o500), os.Chmod(filepath.Dir(charm), 0))
}

// event is what a helper process reports.
type event struct {
	PID  int
	What string
}

func notify(what string) {
	conn, err := net.Dial("unixgram", os.Getenv(notifyVariable))
	if err != nil {
		return // the test is over, or does not listen
	}
	defer conn.Close()
	text, _ := json.Marshal(event{os.Getpid(), what})
	conn.Write(text)
}

// host is a directory for one controller, and the socket to which its processes report.
type host struct {
	t          testing.TB
	controller string
	dir        string
	conn       *net.UnixConn
}

func newHost(t testing.TB, controller string) *host {
	t.Helper()
	// Not t.TempDir, whose paths are too long for a socket.
	top, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, controller: controller, dir: filepath.Join(top, "juju")}
	h.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(top, "ear"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.environ(h.cloud()).DestroyController(context.Background(), false); err != nil {
			t.Error(err)
		}
		if left := h.marks(); len(left) > 0 {
			t.Errorf("processes with marks %q are left", left)
		}
		h.conn.Close()
		// DestroyController must have removed everything else.
		for _, path := range []string{filepath.Join(top, "ear"), top} {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
				os.RemoveAll(top)
			}
		}
	})
	return h
}

func (h *host) config() Config {
	return Config{
		Dir: h.dir, Controller: h.controller, MachineAgent: os.Args[0], Args: []string{"--dir"},
		Grace: 500 * time.Millisecond,
		Env:   []string{roleVariable + "=agent", notifyVariable + "=" + h.conn.LocalAddr().String()},
	}
}

// cloud returns the Cloud of a controller that has just started.
func (h *host) cloud(env ...string) *Cloud {
	h.t.Helper()
	config := h.config()
	config.Env = append(config.Env, env...)
	c, err := New(config)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *host) environ(c *Cloud) provider.Environ {
	h.t.Helper()
	e, err := c.Open(context.Background(), provider.Config{Controller: h.controller, Model: providertest.ModelA})
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

// start starts an instance whose agent reports as "machine ID".
func (h *host) start(e provider.Environ, machine string) provider.Instance {
	h.t.Helper()
	inst, err := e.StartInstance(h.t.Context(), params(machine))
	if err != nil {
		h.t.Fatal(err)
	}
	return inst
}

func params(machine string) provider.StartParams {
	return provider.StartParams{MachineID: machine, Nonce: "n", AgentConfig: []byte("machine " + machine)}
}

// hear waits for the next report, which must be what, and returns the pid of its process.
func (h *host) hear(what string) int {
	h.t.Helper()
	h.conn.SetReadDeadline(time.Now().Add(verify.Patience))
	b := make([]byte, 4096)
	n, err := h.conn.Read(b)
	if err != nil {
		h.t.Fatalf("waiting for %q: %v", what, err)
	}
	var e event
	if err := json.Unmarshal(b[:n], &e); err != nil || e.What != what {
		h.t.Fatalf("got event %s (%v), want %q", b[:n], err, what)
	}
	return e.PID
}

// marks returns the marks of this host's running processes.
func (h *host) marks() (mine []string) {
	h.t.Helper()
	all, err := process.Marks(InstanceVariable)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, mark := range all {
		if strings.HasPrefix(mark, h.controller+"/") {
			mine = append(mine, mark)
		}
	}
	return mine
}

// kill sends SIGKILL to the process that runs in a directory.
func (h *host) kill(dir string) {
	h.t.Helper()
	id, err := process.Holder(dir)
	if err == nil {
		err = syscall.Kill(id.PID, syscall.SIGKILL)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// holder returns the pid of the process that runs in a directory.
func (h *host) holder(dir string) int {
	h.t.Helper()
	id, err := process.Holder(dir)
	if err != nil {
		h.t.Fatal(err)
	}
	return id.PID
}

func (h *host) machine(inst provider.Instance) string {
	return filepath.Join(h.dir, "machines", inst.Model, inst.ID)
}

// agent returns the directory that an instance's agent runs in.
func (h *host) agent(inst provider.Instance) string {
	return filepath.Join(h.machine(inst), "agents", "machine-"+inst.MachineID)
}

// supervise runs the Cloud's Supervise until the test ends.
func (h *host) supervise(c *Cloud) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Supervise(ctx) }()
	stopped := false
	stop = func() {
		h.t.Helper()
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				h.t.Errorf("supervising: %v", err)
			}
		case <-time.After(verify.Patience):
			h.t.Error("still supervising")
		}
	}
	h.t.Cleanup(stop)
	return stop
}

func newController() string { return uuid.NewString() }
