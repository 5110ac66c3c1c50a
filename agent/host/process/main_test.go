package process

import (
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

	"juju/doc/tools/verify"
	"juju/state/entity/backoff"
)

// The tests run this binary again, in one of the roles below, as the processes under test.
// Those have runVariable set to a directory that the tests hold: a process that a test forgot
// is found at the end, and ends by itself when the tests are killed.
const (
	roleVariable   = "PROCESS_TEST_ROLE"
	runVariable    = "PROCESS_TEST_RUN"
	notifyVariable = "PROCESS_TEST_NOTIFY"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role, os.Args[1:]))
	}
	run, err := os.MkdirTemp("", "process")
	if err == nil {
		_, err = Hold(run)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(runVariable, run)
	code := m.Run()
	mine := func(value, _ string) bool { return value == run }
	if left, _, err := marked(runVariable, mine); err != nil || len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes %v are left (%v)\n", left, err)
		EndMarked(context.Background(), runVariable, mine, 0)
		code = 1
	}
	os.RemoveAll(run)
	os.Exit(code)
}

// event is what a helper process reports.
type event struct {
	Identity
	What string
}

// play runs a helper process; args[0] is its directory.
func play(role string, args []string) int {
	dir := args[0]
	go func() {
		WaitEnd(context.Background(), os.Getenv(runVariable))
		os.Exit(9)
	}()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	switch role {
	case "fail":
		fmt.Println("reading the configuration")
		fmt.Println("there is none")
		return 3
	case "mute":
		<-term
		return 0
	case "supervisor":
		err := Supervise(context.Background(),
			Spec{Dir: dir, Path: os.Args[0], Args: args, Env: []string{roleVariable + "=hold"}})
		fmt.Println(err)
		return 1
	case "sleeper": // holds nothing
		notify("sleeping")
		<-term
		return 0
	case "deaf-sleeper":
		signal.Ignore(syscall.SIGTERM)
		notify("sleeping")
		select {}
	}

	held, err := HoldStarting(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	journal(dir)
	switch role {
	case "late":
		notify("holding")
		<-term
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		child(dir, "deaf-sleeper", nil, nil)
	case "mother":
		child(dir, "sleeper", nil, nil)
		child(dir, "sleeper", &syscall.SysProcAttr{Setsid: true}, nil)
		child(dir, "sleeper", &syscall.SysProcAttr{Setpgid: true}, []string{
			roleVariable + "=sleeper", notifyVariable + "=" + os.Getenv(notifyVariable), runVariable + "=" +
				os.Getenv(runVariable),
		})
	}
	held.Ready()
	notify("ready")
	switch role {
	case "quick":
		return 0
	case "dead":
		MarkEnded(dir, "the unit is Dead")
		return 0
	case "deaf":
		select {}
	}
	<-term
	return 0
}

// child starts a helper that its parent doesn't wait for. A nil env means this process's own.
func child(dir, role string, attr *syscall.SysProcAttr, env []string) {
	cmd := exec.Command(os.Args[0], dir)
	cmd.SysProcAttr = attr
	cmd.Env = env
	if env == nil {
		cmd.Env = append(os.Environ(), roleVariable+"="+role)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go cmd.Wait()
}

// journal records that this process runs in dir, and complains if an earlier one still does.
func journal(dir string) {
	path := filepath.Join(dir, "journal")
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		var before Identity
		if json.Unmarshal([]byte(line), &before) != nil {
			continue
		}
		// A process that is being killed has closed its files and runs no more code, but the
		// kernel may need a moment to remove it.
		ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
		for pause := backoff.New(time.Millisecond, 10*time.Millisecond); before.Alive(); {
			if pause.Sleep(ctx) != nil {
				os.WriteFile(filepath.Join(dir, "double"), []byte(line), 0o600)
				break
			}
		}
		cancel()
	}
	me, _ := Of(os.Getpid())
	line, _ := json.Marshal(me)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return // the directory is gone, as some tests intend
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", line)
}

func notify(what string) {
	conn, err := net.Dial("unixgram", os.Getenv(notifyVariable))
	if err != nil {
		return // the test is over
	}
	defer conn.Close()
	me, _ := Of(os.Getpid())
	text, _ := json.Marshal(event{me, what})
	conn.Write(text)
}

// stage is a directory in which helpers run, and the socket to which they report.
type stage struct {
	t    *testing.T
	dir  string
	conn *net.UnixConn
}

func newStage(t *testing.T) *stage {
	t.Helper()
	// Not t.TempDir, whose paths are too long for a socket.
	top, err := os.MkdirTemp("", "process")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, dir: filepath.Join(top, "dir")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(top, "ear"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A process with this stage's socket in its environment belongs to this test.
		if err := EndMarked(context.Background(), notifyVariable, func(v, _ string) bool { return v == s.ear() },
			0); err != nil {
			t.Error(err)
		}
		s.conn.Close()
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) ear() string { return s.conn.LocalAddr().String() }

func (s *stage) spec(role string) Spec {
	return Spec{
		Dir: s.dir, Path: os.Args[0], Args: []string{s.dir}, Bound: verify.Patience,
		Env: []string{roleVariable + "=" + role, notifyVariable + "=" + s.ear()},
	}
}

// start starts a helper and returns its identity.
func (s *stage) start(role string) Identity {
	s.t.Helper()
	started, err := Start(s.t.Context(), s.spec(role))
	if err != nil || !started {
		s.t.Fatalf("started: %v, error: %v", started, err)
	}
	id, err := Holder(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// hear returns the process of the next event, which must be what.
func (s *stage) hear(what string) Identity {
	s.t.Helper()
	s.conn.SetReadDeadline(time.Now().Add(verify.Patience))
	b := make([]byte, 4096)
	n, err := s.conn.Read(b)
	if err != nil {
		s.t.Fatalf("waiting for a process that is %s: %v", what, err)
	}
	var e event
	if err := json.Unmarshal(b[:n], &e); err != nil || e.What != what {
		s.t.Fatalf("got event %s (%v), want %q", b[:n], err, what)
	}
	return e.Identity
}

// onlyOne checks that no two processes ever ran at once, and returns how many ran.
func (s *stage) onlyOne() int {
	s.t.Helper()
	if line, err := os.ReadFile(filepath.Join(s.dir, "double")); err == nil {
		s.t.Errorf("a process was started while %s ran", line)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "journal"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Error(err)
	}
	return strings.Count(string(text), "\n")
}

// supervise runs Supervise. wait waits for its end, and stop ends it; both return its error.
func (s *stage) supervise(role string) (stop, wait func() error) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- Supervise(ctx, s.spec(role)) }()
	wait = func() error {
		select {
		case err := <-done:
			done <- err
			return err
		case <-time.After(verify.Patience):
			return errors.New("still supervising")
		}
	}
	return func() error {
		cancel()
		return wait()
	}, wait
}

// gone waits until the process has ended.
func (s *stage) gone(id Identity) {
	s.t.Helper()
	pause := backoff.New(time.Millisecond, 20*time.Millisecond)
	ctx, cancel := context.WithTimeout(s.t.Context(), verify.Patience)
	defer cancel()
	for id.Alive() {
		if pause.Sleep(ctx) != nil {
			s.t.Fatalf("process %d is still there", id.PID)
		}
	}
}

func (s *stage) kill(id Identity) {
	s.t.Helper()
	if err := id.Signal(syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

// spawn starts a helper without Start, as a shell would.
func (s *stage) spawn(role string, attr *syscall.SysProcAttr) Identity {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], s.dir)
	cmd.Env = append(os.Environ(), s.spec(role).Env...)
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	st, err := readStat(cmd.Process.Pid)
	if err != nil {
		s.t.Fatal(err)
	}
	go cmd.Wait()
	boot, _ := bootID()
	return Identity{st.pid, st.start, boot}
}

// Signal sends sig to this process, and never to another that has its pid now. It is no error
// if the process has ended.
func (id Identity) Signal(sig syscall.Signal) error {
	st, ok, _ := id.stat()
	if !ok {
		return nil
	}
	return st.signal(sig)
}
