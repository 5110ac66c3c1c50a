package lockfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"juju/doc/tools/verify"
)

// Many want the lock: each gets it, one at a time, with a FIFO and without.
func TestTake(t *testing.T) {
	for _, name := range []string{"", "fifo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, fifo := filepath.Join(dir, "lock"), name
			if fifo != "" {
				fifo = filepath.Join(dir, fifo)
			}
			ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
			defer cancel()
			var inside sync.Mutex // fails to be free if two are inside
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 20 {
						l, err := Take(ctx, path, fifo)
						if err != nil {
							t.Error(err)
							return
						}
						if !inside.TryLock() {
							t.Error("two have the lock")
						} else {
							runtime.Gosched() // another may get in, if it can
							inside.Unlock()
						}
						l.Unlock()
					}
				})
			}
			all.Wait()
			if held, err := IsHeld(path); err != nil || held {
				t.Errorf("held in the end: %v, %v", held, err)
			}
		})
	}
}

// Take tries once, and waits no longer than its context.
func TestTakeIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, fifo := filepath.Join(dir, "lock"), filepath.Join(dir, "fifo")
	enough := errors.New("enough")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	l, err := Take(over, path, fifo)
	if err != nil {
		t.Fatalf("a free lock: %v", err)
	}
	for _, f := range []string{fifo, ""} {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := Take(ctx, path, f)
			done <- err
		}()
		cancel(enough)
		if err := <-done; !errors.Is(err, enough) {
			t.Errorf("with FIFO %q: waiting ended with %v", f, err)
		}
	}
	l.Unlock()
	if _, err := Take(t.Context(), filepath.Join(path, "under"), ""); err == nil {
		t.Error("took a lock below a file")
	}
}

// The lock of a directory that its holder removes is not taken; one made again is another's.
func TestRemovedWhileHeld(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	if _, err := TakeDir(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked what isn't there: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := TakeDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		_, err := TakeDir(t.Context(), dir)
		waited <- err
	}()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if removed, err := l.Removed(); err != nil || !removed {
		t.Errorf("removed: %v, %v", removed, err)
	}
	l.Unlock()
	if err := <-waited; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked what was removed: %v", err)
	}

	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path, "")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	second, err := Try(path, "")
	if err != nil {
		t.Fatalf("a file made again: %v", err)
	}
	if removed, err := first.Removed(); err != nil || !removed {
		t.Errorf("the first file's lock was replaced: %v, %v", removed, err)
	}
	if removed, err := second.Removed(); err != nil || removed {
		t.Errorf("the second's: %v, %v", removed, err)
	}
	first.Unlock()
	if held, err := IsHeld(path); err != nil || !held {
		t.Errorf("held: %v, %v", held, err)
	}
	second.Unlock()
}

// A process may hold a lock for life and never look at its Lock again: the garbage collector must not release it.
func TestLockIsNotForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	fd := func() int {
		l, err := Try(path, "")
		if err != nil {
			t.Fatal(err)
		}
		return l.fd
	}()
	for range 3 {
		runtime.GC()
	}
	if held, err := IsHeld(path); err != nil || !held {
		t.Errorf("held: %v, %v after a collection", held, err)
	}
	(&Lock{fd: fd, fifo: -1}).Unlock()
}

// A record replaces a longer one without a trace.
func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Try(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	for _, record := range []string{"a long record", "short"} {
		if err := l.Write([]byte(record)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) != recordSize || string(text[:len(record)+1]) != record+"\n" {
			t.Errorf("the file has %d bytes and begins %.20q, %v", len(text), text, err)
		}
	}
}
