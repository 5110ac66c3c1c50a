package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/entity/backoff"
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
	st, ok, _ := id.stat()
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
	left, _, err := marked(notifyVariable, func(v, _ string) bool { return v == s.ear() })
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
func TestStartOfAProcessThatEndsImmediately(t *testing.T) {
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
	pause := backoff.New(time.Millisecond, 50*time.Millisecond)
	for deadline := time.Now().Add(verify.Patience); count() > before || zombies() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors before, %d after, %d zombies", before, count(), zombies())
		}
		if err := pause.Sleep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBootStaysTheSame(t *testing.T) {
	first, err := Boot()
	if err != nil || !strings.Contains(first, ".") {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := Boot(); again != first || err != nil {
		t.Errorf("%q, then %q, %v", first, again, err)
	}
}
