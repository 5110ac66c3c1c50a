package hooks

import (
	"bytes"
	"context"
	"encoding/json"
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

// A MachineLock is held by this process until Unlock.
//
// Its file says who holds it and, from before a hook begins until another takes the lock, which process the hook is. An
// agent that is killed leaves its hook running without the lock, so whoever takes the lock next ends that hook first.
type MachineLock struct {
	path   string
	lock   *os.File // with an flock
	held   *os.File // the FIFO
	record lockRecord
}

// A lockRecord is what the file of a lock says.
type lockRecord struct {
	Holder string `json:"holder"`
	// Process is the hook that runs under the lock, or the last that did.
	Process Process `json:"process"`
}

// recordSize is how long the file of a lock is at least. Records overwrite each other in place, which needs no room on
// the disk.
const recordSize = 1 << 10

// LockMachine waits until this process alone holds the lock at path, or ctx is done. who is what
// others read of the holder. If it has to wait for longer than sayAfter, it calls waiting once,
// with what the holder says of itself.
//
// The lock is an flock, which ends with its holder. A blocked flock can't be cancelled, and would
// wake up holding the lock. So LockMachine waits for the end of a FIFO beside the lock, which the
// holder keeps open for writing: the FIFO ends when the holder releases the lock or dies, and a
// read from it can be cancelled.
func LockMachine(ctx context.Context, path, who string, waiting func(holder string)) (l *MachineLock, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("cannot take the machine's hook lock: %w", err)
		}
	}()
	for tries := 0; ; tries++ {
		l, err = takeLock(path)
		if err == nil {
			break
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if tries == 0 {
				defer after(sayAfter, func() { waiting(readLock(path).Holder) })()
			}
			err = waitRelease(ctx, fifoOf(path))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := l.endLeft(); err != nil {
		l.Unlock()
		return nil, err
	}
	l.record.Holder = who
	// Only for people: a holder that can't be named is no reason not to run.
	_ = l.write()
	return l, nil
}

// takeLock takes the lock at path without waiting. The error is EWOULDBLOCK if another holds it.
func takeLock(path string) (*MachineLock, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	var held *os.File
	fifo := fifoOf(path)
	if err = unix.Mkfifo(fifo, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		err = &fs.PathError{Op: "mkfifo", Path: fifo, Err: err}
	} else if err = flock(lock); err == nil {
		// Opening only for writing would need a reader.
		held, err = os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &MachineLock{path: path, lock: lock, held: held}, nil
}

func fifoOf(path string) string { return path + ".held" }

// Unlock releases the lock.
func (l *MachineLock) Unlock() {
	// The lock is released first, so that a waiter that the FIFO wakes finds it free.
	l.lock.Close()
	l.held.Close()
}

// endLeft ends the hook that an agent which was killed has left running.
func (l *MachineLock) endLeft() error {
	left := readLock(l.path).Process
	alive, err := left.runs()
	if err != nil || !alive {
		return err
	}
	return endGroup(left.PID)
}

// runs records the process that is about to become a hook.
func (l *MachineLock) runs(p Process) error {
	l.record.Process = p
	if err := l.write(); err != nil {
		return fmt.Errorf("cannot record the hook in the machine's hook lock: %w", err)
	}
	return nil
}

func (l *MachineLock) write() error {
	text, err := json.Marshal(l.record)
	if err != nil {
		return err
	}
	if pad := recordSize - len(text); pad > 0 {
		text = append(text, bytes.Repeat([]byte("\n"), pad)...)
	}
	_, err = l.lock.WriteAt(text, 0)
	return err
}

// readLock returns what the file of the lock at path says.
func readLock(path string) lockRecord {
	record := lockRecord{Holder: "another hook"} // it has just come
	if text, err := os.ReadFile(path); err == nil {
		// What follows is left of a longer record.
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&record)
	}
	return record
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
