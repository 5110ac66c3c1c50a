package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Many processes want the lock: each gets it, one at a time, and in the end it is free.
func TestLockMachine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	const holders, times = 8, 20
	var inside sync.Mutex // fails to be free if two are inside
	var all sync.WaitGroup
	for range holders {
		all.Go(func() {
			for range times {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				lock, err := LockMachine(ctx, path, "me", func(string) {})
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
				if !inside.TryLock() {
					t.Error("two have the lock")
					lock.Unlock()
					return
				}
				for range 50 { // long enough for another to get in, if it could
					runtime.Gosched()
				}
				inside.Unlock()
				lock.Unlock()
			}
		})
	}
	all.Wait()
}

// The wait ends when the context is done, without getting the lock.
func TestLockMachineCancelled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := LockMachine(context.Background(), path, "me", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	soon := func(string) { t.Error("it says at once that it waits") }
	if _, err := LockMachine(ctx, path, "me", soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	got := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		lock, err := LockMachine(ctx, path, "me", func(string) {})
		if err == nil {
			lock.Unlock()
		}
		got <- err
	}()
	lock.Unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := LockMachine(context.Background(), filepath.Join(path, "under"), "me", func(string) {}); !errors.Is(err,
		os.ErrNotExist) && err == nil {
		t.Errorf("a lock that can't be: %v", err)
	}
}
