package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is the pause between two attempts when the lock's holder has just come or just
// gone, so that there is nothing to wait for.
const lockPause = 2 * time.Millisecond

// sayAfter is how long a hook waits before it says so. Most hooks are short, and a status for
// each of them would be more than people can read.
const sayAfter = time.Second

// LockMachine waits until this process alone holds the lock at path, or ctx is done. who is what
// others read of the holder. If it has to wait for longer than sayAfter, it calls waiting once,
// with what the holder says of itself.
//
// The lock is an flock, which ends with its holder. A blocked flock can't be cancelled, and would
// wake up holding the lock. So LockMachine waits for the end of a FIFO beside the lock, which the
// holder keeps open for writing: the FIFO ends when the holder releases the lock or dies, and a
// read from it can be cancelled.
func LockMachine(ctx context.Context, path, who string, waiting func(holder string)) (unlock func(), err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("cannot take the machine's hook lock: %w", err)
		}
	}()
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	fifo := path + ".held"
	if err := unix.Mkfifo(fifo, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		lock.Close()
		return nil, &fs.PathError{Op: "mkfifo", Path: fifo, Err: err}
	}
	for tries := 0; ; tries++ {
		err := flock(lock)
		if err == nil {
			break
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if tries == 0 {
				defer after(sayAfter, func() { waiting(holderOf(path)) })()
			}
			err = waitRelease(ctx, fifo)
		}
		if err != nil {
			lock.Close()
			return nil, err
		}
	}
	// Opening only for writing would need a reader.
	held, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		lock.Close()
		return nil, err
	}
	// Only for people: a holder that can't be named is no reason not to run.
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt([]byte(who), 0)
	}
	return func() {
		// The lock is released first, so that a waiter that the FIFO wakes finds it free.
		lock.Close()
		held.Close()
	}, nil
}

// holderOf returns what the holder of the lock at path says of itself.
func holderOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return "another hook" // it has just come
	}
	return string(text)
}

// after calls f after a time, unless stop is called before. stop returns when f doesn't run.
func after(d time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(done)
		f()
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// flock tries to take the lock without waiting.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// waitRelease returns nil when the lock may be free, and ctx's cause when it is
// done.
func waitRelease(ctx context.Context, fifo string) error {
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err = f.Read(make([]byte, 1))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && err != io.EOF {
		return err
	}
	// A holder that has the lock but not yet the FIFO, or the other way round, also reads as an
	// end.
	select {
	case <-time.After(lockPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
