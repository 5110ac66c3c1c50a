package hooks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"juju/agent/host/lockfile"
	"juju/agent/host/process"
)

// termGrace is the time between SIGTERM and SIGKILL.
const termGrace = 2 * time.Second

// A Process is a hook's process, which leads a process group.
type Process struct {
	process.Identity
	// Lock is the file of the first MachineLock under which the hook runs; "" for none.
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

// EndInterrupted stops the hook recorded in p if it is still running: it terminates its process group,
// then kills it, and returns nil once it has exited. It does not touch processes that have reused the
// PID, or background children of a hook that exited by itself.
func EndInterrupted(p Process) error {
	if err := p.endInterrupted(context.Background()); err != nil {
		return fmt.Errorf("cannot end the interrupted hook: %w", err)
	}
	return nil
}

// endInterrupted is EndInterrupted. The hook's new agent calls it, and whoever takes one of the hook's locks next. It returns
// nil to none of them while another is still stopping the hook: from the moment that the hook's own process has exited, what is
// left of its group can't be told from background children that it meant to leave.
func (p Process) endInterrupted(ctx context.Context) error {
	if p.Lock != "" {
		turn, err := lockfile.Take(ctx, p.Lock+".ends", "") // held for a bounded time
		switch {
		case err == nil:
			defer turn.Unlock()
		case !errors.Is(err, fs.ErrNotExist): // else the machine is gone, and whoever has its hook's other lock ends what is left
			return err
		}
	}
	alive, err := p.runs()
	if err != nil || !alive {
		return err
	}
	return p.end(termGrace)
}
