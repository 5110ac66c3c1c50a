package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"juju/agent/host/lockfile"
)

// sayAfter is how long a hook waits before it reports that. Most hooks are short, and a status for each
// would be noise.
const sayAfter = time.Second

// A MachineLock is a lock of a machine, or of the host that machines share. It is held by this process until Unlock.
//
// Its file records the holder and, from before a hook starts until the next acquisition, the hook's process. A killed
// agent leaves its hook running without the lock, so the next process to acquire the lock first kills that hook.
type MachineLock struct {
	path   string
	lock   *lockfile.Lock
	record lockRecord
}

// A lockRecord is the content of a lock's file.
type lockRecord struct {
	Holder string `json:"holder"`
	// Process is the hook that runs under the lock, or the last that did.
	Process Process `json:"process"`
}

// LockMachine acquires the lock at path, or fails when ctx is done. who describes this holder to others.
// If it waits longer than sayAfter, it calls waiting once with the current holder's description.
func LockMachine(ctx context.Context, path, who string, waiting func(holder string)) (l *MachineLock, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("cannot take the hook lock: %w", err)
		}
	}()
	stop := after(sayAfter, func() { waiting(readLock(path).Holder) })
	lock, err := lockfile.Take(ctx, path, fifoOf(path))
	stop()
	if err != nil {
		return nil, err
	}
	l = &MachineLock{path: path, lock: lock}
	if err := readLock(path).Process.endInterrupted(ctx); err != nil { // left running by a killed agent
		l.Unlock()
		return nil, err
	}
	l.record.Holder = who
	// Only for people: a holder that can't be named is no reason not to run.
	_ = l.write()
	return l, nil
}

func fifoOf(path string) string { return path + ".held" }

// Unlock releases the lock.
func (l *MachineLock) Unlock() { l.lock.Unlock() }

// runs records the process that is about to exec a hook.
func (l *MachineLock) runs(p Process) error {
	l.record.Process = p
	if err := l.write(); err != nil {
		return fmt.Errorf("cannot record the hook in the hook lock: %w", err)
	}
	return nil
}

func (l *MachineLock) write() error {
	text, err := json.Marshal(l.record)
	if err != nil {
		return err
	}
	return l.lock.Write(text)
}

// readLock returns the content of the lock's file at path.
func readLock(path string) lockRecord {
	record := lockRecord{Holder: "another hook"} // it has just come
	if text, err := os.ReadFile(path); err == nil {
		// What follows is left of a longer record.
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&record)
	}
	return record
}

// after calls f after a delay, unless stop is called first. When stop returns, f is not running.
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
