package process

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if alive, err := Alive(s.dir); err != nil || alive {
		t.Fatalf("alive: %v, %v before the start", alive, err)
	}
	if err := WaitEnd(t.Context(), s.dir); err != nil {
		t.Fatalf("waiting for the end of nothing: %v", err)
	}
	id := s.start("hold")
	s.hear("ready")
	if alive, err := Alive(s.dir); err != nil || !alive {
		t.Errorf("alive: %v, %v after the start", alive, err)
	}
	st, ok := id.stat()
	if !ok || !st.leads() || st.pgrp != st.pid {
		t.Errorf("got %+v, want a process with a session and a group of its own", st)
	}
	if started, err := Start(t.Context(), s.spec("hold")); started || err != nil {
		t.Errorf("starting it again: %v, %v", started, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- WaitEnd(t.Context(), s.dir) }()
	if err := Stop(t.Context(), s.dir, 10*time.Second); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("waiting for the end: %v", err)
	}
	if id.Alive() {
		t.Error("it lives on")
	}
	if err := Stop(t.Context(), s.dir, time.Second); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
	if _, err := Holder(s.dir); !errors.Is(err, ErrNotHeld) {
		t.Errorf("its holder: got error %v, want ErrNotHeld", err)
	}
	s.onlyOne()
}

// Starters that come at the same moment start one process between them.
func TestStartersTakeTurns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	count := 0
	for range 5 {
		wg.Go(func() {
			started, err := Start(t.Context(), s.spec("hold"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if started {
				count++
			}
		})
	}
	wg.Wait()
	if n := s.onlyOne(); count != 1 || n != 1 {
		t.Errorf("%d say they started it, %d ran", count, n)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	os.WriteFile(LogPath(s.dir), []byte("of an earlier run\n"), 0o600)
	_, err := Start(t.Context(), s.spec("fail"))
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{"exit status 3", "there is none"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "earlier") {
		t.Errorf("error %q quotes what is not of this run", err)
	}

	spec := s.spec("mute")
	spec.Bound = 500 * time.Millisecond
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "not ready within 500ms") {
		t.Errorf("a process that never holds: got error %v", err)
	}
	left, _, err := marked(notifyVariable, func(v string) bool { return v == s.ear() })
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left of it (%v)", left, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, s.spec("hold")); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was given up: got error %v", err)
	}
	spec.Path = "/no/such/program"
	if _, err := Start(t.Context(), spec); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: got error %v", err)
	}
	spec = s.spec("hold")
	spec.Dir = filepath.Join(s.dir, "nowhere")
	if _, err := Start(t.Context(), spec); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: got error %v", err)
	}
}

// A process that is ready and ends at once counts as started.
func TestStartOfAProcessThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 20 {
		if started, err := Start(t.Context(), s.spec("quick")); err != nil || !started {
			t.Fatalf("started: %v, error: %v", started, err)
		}
		s.hear("ready")
		if err := WaitEnd(t.Context(), s.dir); err != nil {
			t.Fatal(err)
		}
	}
	s.onlyOne()
}

// A process that holds its directory but is not ready keeps its starter waiting.
func TestReadyComesAfterHold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done := make(chan error, 1)
	go func() {
		_, err := Start(t.Context(), s.spec("late"))
		done <- err
	}()
	id := s.hear("holding")
	select {
	case err := <-done:
		t.Fatalf("the start returned %v before the process was ready", err)
	default:
	}
	if err := id.Signal(syscall.SIGTERM); err != nil { // makes it ready
		t.Fatal(err)
	}
	s.hear("ready")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHoldRefusesASecond(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first, err := Hold(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(s.dir); !errors.Is(err, ErrHeld) {
		t.Errorf("a second hold: got error %v, want ErrHeld", err)
	}
	first.Close()
	second, err := Hold(s.dir)
	if err != nil {
		t.Fatalf("a hold after the first was released: %v", err)
	}
	// A directory that was removed and made again is not held.
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	third, err := Hold(s.dir)
	if err != nil {
		t.Fatalf("a hold of the new directory: %v", err)
	}
	second.Close()
	if alive, err := Alive(s.dir); err != nil || !alive {
		t.Errorf("alive: %v, %v", alive, err)
	}
	third.Close()
}

// A process that holds its directory for life never uses the Held again, and the garbage
// collector must not release it for that.
func TestHoldIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	hold := func() (fds [2]int) {
		h, err := Hold(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		return [2]int{h.lock, h.fifo}
	}
	fds := hold()
	for range 3 {
		runtime.GC()
	}
	if alive, err := Alive(s.dir); err != nil || !alive {
		t.Errorf("alive: %v, %v after a collection", alive, err)
	}
	(&Held{lock: fds[0], fifo: fds[1]}).Close()
	if alive, err := Alive(s.dir); err != nil || alive {
		t.Errorf("alive: %v, %v after it was released", alive, err)
	}
}

// Processes that only look must not keep a process from starting.
func TestHoldAmongLookers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := Alive(s.dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		held, err := Hold(s.dir)
		if err != nil {
			t.Error(err)
			break
		}
		held.Close()
	}
	cancel()
	wg.Wait()
}

func TestWaitEndCanBeGivenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	held, err := Hold(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- WaitEnd(ctx, s.dir) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if alive, err := Alive(s.dir); err != nil || !alive {
		t.Errorf("alive: %v, %v after a watcher gave up", alive, err)
	}
}

// Stop ends a process group that ignores SIGTERM, including children, and nothing else.
func TestStopKillsTheGroup(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	bystander := other.start("hold")
	id := s.start("deaf")
	first, second := s.hear2("ready", "sleeping")
	if first != id {
		t.Errorf("got %v, want %v", first, id)
	}
	if err := Stop(t.Context(), s.dir, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Identity{first, second} {
		if p.Alive() {
			t.Errorf("process %d is still there", p.PID)
		}
	}
	if !bystander.Alive() {
		t.Error("a process of another directory was ended too")
	}
}

// A process started by hand shares the process group of a shell, or here of the test, which
// must live to see its end.
func TestStopOfAProcessStartedByHand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.spawn("hold", nil)
	s.hear("ready")
	if started, err := Start(t.Context(), s.spec("hold")); err != nil || started {
		t.Errorf("beside it: started %v, error %v", started, err)
	}
	if err := Stop(t.Context(), s.dir, 10*time.Second); err != nil {
		t.Error(err)
	}
	if id.Alive() {
		t.Error("it lives on")
	}
}

// hear2 receives two events, in either order.
func (s *stage) hear2(one, two string) (first, second Identity) {
	s.t.Helper()
	got := map[string]Identity{}
	b := make([]byte, 4096)
	s.conn.SetReadDeadline(time.Now().Add(15 * time.Second))
	for range 2 {
		n, err := s.conn.Read(b)
		if err != nil {
			s.t.Fatal(err)
		}
		var e event
		json.Unmarshal(b[:n], &e)
		got[e.What] = e.Identity
	}
	return got[one], got[two]
}

// A lock may name a pid that the kernel has since given to another process, which must not be
// killed.
func TestStopNeverKillsOnAPidAlone(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	held, err := Hold(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	stranger := other.start("hold")
	for name, forged := range map[string]Identity{
		"began earlier": {stranger.PID, stranger.Start - 1, stranger.Boot},
		"another boot":  {stranger.PID, stranger.Start, "yesterday"},
	} {
		text, _ := json.Marshal(forged)
		if err := os.WriteFile(filepath.Join(s.dir, lockName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Stop(t.Context(), s.dir, 0); err == nil {
			t.Errorf("%s: stopped something", name)
		}
		if err := forged.Signal(syscall.SIGKILL); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if members, _, err := group(forged); name == "began earlier" && (err != nil || len(members) != 0) {
			t.Errorf("%s: the group of another: %v, %v", name, members, err)
		}
	}
	if !stranger.Alive() {
		t.Error("the stranger is dead")
	}
	// A process does not end itself in this way either.
	me, _ := self()
	text, _ := json.Marshal(me)
	os.WriteFile(filepath.Join(s.dir, lockName), text, 0o600)
	if err := Stop(t.Context(), s.dir, 0); err == nil {
		t.Error("stopped itself")
	}
}

// A process's descendants are found by its mark: a child, a daemon in a session of its own, and
// a child that lost its environment but not its session.
func TestEndMarked(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	bystander := other.start("hold")
	mother := s.start("mother")
	var all []Identity
	for range 4 {
		s.conn.SetReadDeadline(time.Now().Add(15 * time.Second))
		b := make([]byte, 4096)
		n, err := s.conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		var e event
		json.Unmarshal(b[:n], &e)
		all = append(all, e.Identity)
	}
	s.kill(mother) // which orphans them all
	s.gone(mother)
	match := func(v string) bool { return v == s.ear() }
	marks, err := Marks(notifyVariable)
	if err != nil || !slices.Contains(marks, s.ear()) || !slices.Contains(marks, other.ear()) {
		t.Errorf("got marks %q, %v", marks, err)
	}
	if err := EndMarked(t.Context(), notifyVariable, match, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, id := range all {
		if id.Alive() {
			t.Errorf("process %d is still there", id.PID)
		}
	}
	if !bystander.Alive() {
		t.Error("a process with another mark was ended too")
	}
	if err := EndMarked(t.Context(), notifyVariable, match, 0); err != nil {
		t.Errorf("ending nothing: %v", err)
	}
}

// A child with an empty environment is ended with the session, which the marked process leads.
func TestEndMarkedEndsSessions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.start("mother")
	match := func(v string) bool { return v == s.ear() }
	found, _, err := marked(roleVariable, func(v string) bool { return v == "mother" })
	if err != nil {
		t.Fatal(err)
	}
	inSession := 0
	leader, _ := Holder(s.dir)
	for _, st := range found {
		if st.session == leader.PID {
			inSession++
		}
	}
	if inSession != 3 {
		t.Errorf("found %d processes in the session of the only one with that mark, want it and its two children there",
			inSession)
	}
	if err := EndMarked(t.Context(), notifyVariable, match, time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestALongLogIsRenamed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("fail")
	spec.LogMax = 100
	for range 20 {
		if _, err := Start(t.Context(), spec); err == nil {
			t.Fatal("it started")
		}
	}
	for _, name := range []string{LogPath(s.dir), LogPath(s.dir) + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if info.Size() == 0 || info.Size() > 200 {
			t.Errorf("%s holds %d bytes", name, info.Size())
		}
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("a line of the log\n", 1000)
	if err := os.WriteFile(path, []byte("before\n"+long+"the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tail := logTail(path, 7)
	if len(tail) > 2048 || !strings.HasPrefix(tail, "a line of the log\n") || !strings.HasSuffix(tail, "the end") {
		t.Errorf("got %d bytes: %q", len(tail), tail)
	}
	if tail := logTail(path, int64(7+len(long))); tail != "the end" {
		t.Errorf("got %q", tail)
	}
}

func TestNothingIsLeftOpen(t *testing.T) {
	// Not parallel, because it counts.
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	s := newStage(t)
	cycle := func() {
		s.start("hold")
		s.hear("ready")
		if err := Stop(t.Context(), s.dir, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(t.Context(), s.spec("fail")); err == nil {
			t.Fatal("it started")
		}
	}
	cycle()
	before := count()
	for range 3 {
		cycle()
	}
	zombies := func() int {
		n := 0
		names, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range names {
			text, err := os.ReadFile(name)
			_, rest, _ := strings.Cut(string(text), ") ")
			fields := strings.Fields(rest)
			if err == nil && len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
				n++
			}
		}
		return n
	}
	// Stop returns once the process has ended. The goroutine that reaps it, and closes its
	// pidfd, may run a moment later.
	pause := newPause(time.Millisecond, 50*time.Millisecond)
	for deadline := time.Now().Add(10 * time.Second); count() > before || zombies() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors before, %d after, %d zombies", before, count(), zombies())
		}
		if err := pause.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The lock and the FIFO don't leak into what a holder starts: a daemon that outlives its agent
// must not look like that agent.
func TestChildrenDontInheritTheHold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mother := s.start("mother")
	s.kill(mother)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := WaitEnd(ctx, s.dir); err != nil {
		t.Errorf("its end is not seen while its children live: %v", err)
	}
	left, _, err := marked(notifyVariable, func(v string) bool { return v == s.ear() })
	if err != nil || len(left) == 0 {
		t.Errorf("none of its children lived to tell: %v, %v", left, err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
	done := make(chan error)
	go func() {
		unlock, err := Lock(t.Context(), path)
		if err == nil {
			unlock()
		}
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if err != nil || err2 != nil || string(got) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("got %q, %v, %v, %v", got, info, err, err2)
		}
	}
	if err := WriteFile(dir, nil); err == nil {
		t.Error("replaced a directory")
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left %v", names)
	}
}

func TestAliveWithoutPermission(t *testing.T) {
	if unix.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	s := newStage(t)
	if err := os.WriteFile(filepath.Join(s.dir, lockName), nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Alive(s.dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got error %v, want an error", err)
	}
}
