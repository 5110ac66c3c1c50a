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

// lockPause is between two tries when the lock's holder has just come or just
// gone, so that nothing can be waited for.
const lockPause = 2 * time.Millisecond

// lockMachine waits until this process alone holds the lock at path, or ctx is
// done; waiting is called once if it has to. The lock is flock's, which dies with its holder. A blocked flock can't
// be called off, and would wake up holding the lock; so what is waited for is
// the end of a FIFO beside it, which the holder keeps open for writing: it comes
// when the holder lets go or dies, and a read of it can be cancelled.
func lockMachine(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
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
				waiting()
			}
			err = waitRelease(ctx, fifo)
		}
		if err != nil {
			lock.Close()
			return nil, err
		}
	}
	// For reading too, or there would have to be a reader first.
	held, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return func() {
		// In this order: who is woken by the FIFO finds the lock free.
		lock.Close()
		held.Close()
	}, nil
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
	// A holder that has the lock but not the FIFO yet, or the other way round,
	// reads as an end too.
	select {
	case <-time.After(lockPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
