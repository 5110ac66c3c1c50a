package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"juju/agent/host/lockfile"
	"juju/agent/host/process"
)

// termGrace is the time between SIGTERM and SIGKILL for a hook that must end.
const termGrace = 2 * time.Second

// A Process is a hook's process, which leads a process group.
type Process struct {
	process.Identity
	// Lock is the file of the MachineLock under which the hook runs; "" for none.
	Lock string `json:"lock,omitempty"`
}

// identify returns the record of a process that runs.
func identify(pid int) (Process, error) {
	id, err := process.Of(pid)
	return Process{Identity: id}, err
}

// runs reports whether the recorded process is still there. A record without a process names none.
func (p Process) runs() (bool, error) {
	if p.PID <= 1 {
		return false, nil
	}
	return p.Runs()
}

// end ends every process of the hook's group, at once if there is no grace.
func (p Process) end(grace time.Duration) error {
	return process.EndGroup(context.Background(), p.Identity, grace)
}

// lockLook is how often EndInterrupted looks whether a lock has become free.
const lockLook = 10 * time.Millisecond

// EndInterrupted ends the hook recorded in p, if it still runs: it terminates its process
// group, then kills it, and returns nil when it is gone. It leaves alone a process that is not
// the recorded one, and the background children of a hook that has exited by itself.
//
// A hook that runs under a lock is ended under it, by this function or by whoever else takes the lock, so that the next
// hook does not begin before all its processes are gone.
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
