package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"juju/agent/host/lockfile"
)

// ErrLocked is the error of LockDir when ctx ends while the directory is locked.
var ErrLocked = errors.New("another juju command is using it")

// LockDir locks an existing directory until unlock is called or the process exits. It waits for the lock until ctx ends.
// If the holder of the lock removes the directory, the error wraps fs.ErrNotExist.
func LockDir(ctx context.Context, dir string) (unlock func(), err error) {
	lock, err := lockfile.TakeDir(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", dir, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	return lock.Unlock, nil
}

// lockTimeout is how long Update waits for the lock.
const lockTimeout = 10 * time.Second

// makeAndLock is LockDir for a directory that may not exist yet.
func makeAndLock(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
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
