// Package lockfile implements locks between processes. They are flocks, which are released when their holder
// exits, however that happens.
//
// A blocked flock can't be cancelled, and would wake up holding the lock. So a lock may have a FIFO, which
// the holder keeps open for writing: readers get EOF when the holder releases the lock or dies, and a read
// can be cancelled. Locks that are held only briefly need no FIFO; they are polled.
package lockfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"juju/state/entity/backoff"
)

// ErrHeld is returned by Try if another process, or another Lock of this process, holds the lock.
var ErrHeld = errors.New("the lock is held")

const (
	pollMin = time.Millisecond
	pollMax = 50 * time.Millisecond
	// recordSize is the minimum size of a lock file with a record, in bytes. Records are padded and overwrite
	// each other in place, which works even if the disk is full.
	recordSize = 1 << 10
)

// A Lock is held until Unlock, or until the process exits. It is not released when it becomes unreachable.
type Lock struct {
	path string
	// Descriptors, not files, because the garbage collector closes files. fifo is -1 if there is none.
	fd, fifo int
}

// Try locks the file at path, which it creates if necessary, and opens the FIFO at fifo, unless that is "".
// The error is ErrHeld if the lock is held.
func Try(path, fifo string) (*Lock, error) {
	l, err := try(path, unix.O_RDWR|unix.O_CREAT, unix.LOCK_EX)
	if err != nil || fifo == "" {
		return l, err
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		l.Unlock()
		return nil, &fs.PathError{Op: "mkfifo", Path: fifo, Err: err}
	}
	// Opened for reading too, because opening only for writing would need a reader.
	if l.fifo, err = open(fifo, unix.O_RDWR|unix.O_NONBLOCK); err != nil {
		l.Unlock()
		return nil, err
	}
	return l, nil
}

// Take is Try, but waits until the lock is free. It tries at least once even if ctx is done. If ctx is done
// first, the error is its cause.
func Take(ctx context.Context, path, fifo string) (*Lock, error) {
	return take(ctx, fifo, func() (*Lock, error) { return Try(path, fifo) })
}

// TakeDir is Take for an existing directory.
func TakeDir(ctx context.Context, dir string) (*Lock, error) {
	return take(ctx, "", func() (*Lock, error) { return try(dir, unix.O_RDONLY|unix.O_DIRECTORY, unix.LOCK_EX) })
}

func take(ctx context.Context, fifo string, try func() (*Lock, error)) (*Lock, error) {
	for pauses := backoff.New(pollMin, pollMax); ; {
		l, err := try()
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		if fifo != "" {
			if err := AwaitRelease(ctx, fifo); err != nil {
				return nil, err
			}
			pauses.Reset() // the FIFO is closed shortly before the lock is released, and opened shortly after it is taken
		}
		if err := pauses.Sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// try locks the file at path. The lock's holder may remove the file or its directory, so after locking, try
// checks that path still refers to the same file, and otherwise starts over.
func try(path string, flags, how int) (*Lock, error) {
	for {
		fd, err := open(path, flags)
		if err != nil {
			return nil, err
		}
		l := &Lock{path: path, fd: fd, fifo: -1}
		removed := false
		if err = flock(fd, how|unix.LOCK_NB); err == nil {
			removed, err = l.Removed()
		}
		switch {
		case err == nil && !removed:
			return l, nil
		case err == unix.EWOULDBLOCK:
			err = ErrHeld
		case err != nil:
			err = &fs.PathError{Op: "lock", Path: path, Err: err}
		}
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
	}
}

func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		default:
			return fd, nil
		}
	}
}

func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); err != unix.EINTR {
			return err
		}
	}
}

// Unlock releases the lock.
func (l *Lock) Unlock() {
	// Closing is not enough, because children that have just been forked keep copies until they exec. The
	// FIFO is closed last, so that the processes it wakes find the lock free.
	flock(l.fd, unix.LOCK_UN)
	unix.Close(l.fd)
	if l.fifo >= 0 {
		unix.Close(l.fifo)
	}
}

// Write replaces the record in the lock's file, which other processes may read.
func (l *Lock) Write(record []byte) error {
	record = append(bytes.Clone(record), '\n')
	if pad := recordSize - len(record); pad > 0 {
		record = append(record, bytes.Repeat([]byte("\n"), pad)...)
	}
	_, err := unix.Pwrite(l.fd, record, 0)
	if err != nil {
		return &fs.PathError{Op: "write", Path: l.path, Err: err}
	}
	return nil
}

// Removed reports whether the lock's file was removed or replaced, so that others can't see the lock.
func (l *Lock) Removed() (bool, error) {
	var mine, there unix.Stat_t
	if err := unix.Fstat(l.fd, &mine); err != nil {
		return false, err
	}
	switch err := unix.Stat(l.path, &there); {
	case err == unix.ENOENT:
		return true, nil
	case err != nil:
		return false, &fs.PathError{Op: "stat", Path: l.path, Err: err}
	}
	return mine.Dev != there.Dev || mine.Ino != there.Ino, nil
}

// IsHeld reports whether a process holds the lock of the file at path. It returns false if there is no such file.
func IsHeld(path string) (bool, error) {
	l, err := try(path, unix.O_RDONLY, unix.LOCK_SH)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, ErrHeld):
		return true, nil
	case err != nil:
		return false, err
	}
	l.Unlock()
	return false, nil
}

// AwaitRelease waits until no process has the FIFO open for writing. It returns nil immediately if there is
// no FIFO. If ctx is done first, the error is its cause.
func AwaitRelease(ctx context.Context, fifo string) error {
	f, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return context.Cause(ctx)
	} else if err != nil {
		return err
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err = io.Copy(io.Discard, f)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
