package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"juju/agent/host/lockfile"
	"juju/agent/host/process"
)

// termGrace is the time between SIGTERM and SIGKILL.
const termGrace = 2 * time.Second

// A Process is a hook's process, which leads a process group.
type Process struct {
	process.Identity
	// Lock is the file of the MachineLock under which the hook runs; "" for none.
	Lock string `json:"lock,omitempty"`
}

// identify returns the record of a running process.
func identify(pid int) (Process, error) {
	id, err := process.Of(pid)
	return Process{Identity: id}, err
}

// runs reports whether the recorded process is still running; false for an empty record.
func (p Process) runs() (bool, error) {
	if p.PID <= 1 {
		return false, nil
	}
	return p.Runs()
}

// end terminates all processes of the hook's process group, with SIGKILL immediately if grace is 0.
func (p Process) end(grace time.Duration) error {
	return process.EndGroup(context.Background(), p.Identity, grace)
}

// lockLook is the interval at which EndInterrupted polls a lock.
const lockLook = 10 * time.Millisecond

// EndInterrupted stops the hook recorded in p if it is still running: it terminates its process group,
// then kills it, and returns nil once it has exited. It does not touch processes that have reused the
// PID, or background children of a hook that exited by itself.
//
// A hook that runs under a lock is stopped while holding the lock, by this function or by the next holder, so that
// the next hook does not start until all its processes have exited.
func EndInterrupted(p Process) error {
	if err := endInterrupted(p); err != nil {
		return fmt.Errorf("cannot end the interrupted hook: %w", err)
	}
	return nil
}

func endInterrupted(p Process) error {
	for {
		if alive, err := p.runs(); err != nil || !alive {
			return err
		}
		if p.Lock == "" {
			return p.end(termGrace)
		}
		lock, err := lockfile.Try(p.Lock, fifoOf(p.Lock))
		if err == nil {
			defer lock.Unlock()
			return p.end(termGrace)
		}
		if !errors.Is(err, lockfile.ErrHeld) {
			return err
		}
		time.Sleep(lockLook) // the lock's holder ends it
	}
}
