package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"juju/doc/tools/verify"
)

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
	verify.Only(t, "starts real processes and takes their time")
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

// Processes that only look must not keep a process from starting.
func TestHoldWithConcurrentReaders(t *testing.T) {
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

// The lock and the FIFO don't leak into what a holder starts: a daemon that outlives its agent
// must not look like that agent.
func TestChildrenDontInheritTheHold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mother := s.start("mother")
	s.kill(mother)
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	defer cancel()
	if err := WaitEnd(ctx, s.dir); err != nil {
		t.Errorf("its end is not seen while its children live: %v", err)
	}
	left, _, err := marked(notifyVariable, func(v, _ string) bool { return v == s.ear() })
	if err != nil || len(left) == 0 {
		t.Errorf("none of its children lived to tell: %v, %v", left, err)
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

// A process whose directory is gone learns of it, also if another directory is in its place.
func TestRemovalOfAHeldDirectory(t *testing.T) {
	for _, again := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "agent")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		held, err := Hold(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if err := held.AwaitRemoval(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while it is there: %v", err)
			}
			cancel()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if again {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, lockName), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			if err := held.AwaitRemoval(t.Context()); !errors.Is(err, ErrRemoved) || time.Since(began) > removalPoll {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		})
	}
}
