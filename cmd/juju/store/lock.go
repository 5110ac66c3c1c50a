package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is the error of LockDir when the lock is held for longer than the context allows.
var ErrLocked = errors.New("another juju command is working there")

// lockPause is the pause before trying a lock again. Locks are held briefly, so polling
// suffices.
const lockPause = 20 * time.Millisecond

// LockDir locks an existing directory, until unlock is called or the process exits. It waits
// while the directory is locked, as long as ctx allows. The holder of the lock may remove the
// directory; the error then wraps fs.ErrNotExist.
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
			f.Close() // removed or replaced before it was locked
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

// isStill reports whether the open directory is still the one at that path.
func isStill(f *os.File, dir string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(dir)
	return err == nil && os.SameFile(mine, now)
}

// lockBound is how long Update waits for the lock.
const lockBound = 10 * time.Second

// makeAndLock is LockDir for a directory that may have to be created.
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
