package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is what LockDir's error wraps when somebody else holds the lock for
// longer than the context allows.
var ErrLocked = errors.New("another juju command is working there")

// lockPause is how long to wait before a lock is tried again. Locks are held for
// moments, so nothing cleverer is needed.
const lockPause = 20 * time.Millisecond

// LockDir locks a directory, which must exist, until unlock is called or this
// process ends. It waits for whoever has it locked, as long as ctx allows. The
// directory may be removed meanwhile by who holds its lock: the error then wraps
// fs.ErrNotExist.
func LockDir(ctx context.Context, dir string) (unlock func(), err error) {
	for {
		f, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			if isStill(f, dir) {
				return func() { f.Close() }, nil
			}
			f.Close() // it was removed, or made anew, before we had it
			continue
		}
		f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("cannot lock %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot lock %s: %w", dir, ErrLocked)
		case <-time.After(lockPause):
		}
	}
}

// isStill reports whether the open directory is the one at that path.
func isStill(f *os.File, dir string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(dir)
	return err == nil && os.SameFile(mine, now)
}

// lockBound is how long a change waits for others.
const lockBound = 10 * time.Second

// makeAndLock is LockDir for a directory that is made when it isn't there.
func makeAndLock(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockBound)
	defer cancel()
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		unlock, err := LockDir(ctx, dir)
		if !errors.Is(err, os.ErrNotExist) {
			return unlock, err
		}
	}
}
