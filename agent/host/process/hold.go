package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"juju/agent/host/lockfile"
)

const (
	lockName  = "lock"
	fifoName  = "alive"
	startName = "start.lock"
	endedName = "ended"
	logName   = "log"
)

// holdBound is how long Hold tries. Others hold the lock for a moment when they look at it; and
// when a holder is killed, children that it has just forked keep copies of the lock until they
// exec.
const holdBound = 3 * time.Second

// ErrHeld is wrapped by Hold's error when another process holds the directory.
var ErrHeld = errors.New("another process runs there")

// ErrNotHeld is wrapped by Holder's error when no process holds the directory.
var ErrNotHeld = errors.New("no process runs there")

// Held is a directory that this process holds. It is released when the process ends, in
// whatever way, and not when the Held becomes unreachable.
type Held struct {
	dir   string
	lock  *lockfile.Lock // nil until it is held
	ready *os.File       // where Start waits for this process; nil if it doesn't
}

// Hold makes this process the one that runs in dir, which must exist, and tells the Start that
// waits for it. The error wraps ErrHeld when another process still runs there after a few
// seconds, and ErrEnded when the process in dir has been marked as ended, even if that happened
// after this one was started. In both cases this process must end.
func Hold(dir string) (*Held, error) {
	h, err := HoldStarting(dir)
	if err != nil {
		return nil, err
	}
	h.Ready()
	return h, nil
}

// HoldStarting is Hold for a process that is not ready: the Start that waits for it goes on
// waiting until Ready.
func HoldStarting(dir string) (*Held, error) {
	h := &Held{dir: dir, ready: takeReady()}
	if err := h.hold(dir); err != nil {
		h.Close()
		return nil, fmt.Errorf("cannot hold %s: %w", dir, err)
	}
	return h, nil
}

// Ready tells the Start that waits for this process, if one does, that it is up.
func (h *Held) Ready() {
	if h.ready == nil {
		return
	}
	// An error means that the starter is gone, which does not matter.
	h.ready.Write([]byte{1})
	h.ready.Close()
	h.ready = nil
}

// ErrRemoved is wrapped by the errors of AwaitRemoval and Supervise when the directory is gone.
var ErrRemoved = errors.New("its directory was removed")

func removed(dir string) error { return fmt.Errorf("%w: %s", ErrRemoved, dir) }

// removedLook is how often AwaitRemoval looks. A watch of the kernel's would cost each process one of the few that a
// user has.
const removedLook = 2 * time.Second

// AwaitRemoval returns when the directory that this process holds is gone, or another is in its place: then no one can
// find this process any more, and it must end. The error wraps ErrRemoved. If ctx is done before, it is ctx's cause.
func (h *Held) AwaitRemoval(ctx context.Context) error {
	look := time.NewTicker(removedLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		gone, err := h.lock.Removed()
		if err != nil {
			return err
		}
		if gone {
			return removed(h.dir)
		}
	}
}

// Close releases the directory. Only a process that continues without it calls Close. Any other
// just ends, so that no process takes its place before that.
func (h *Held) Close() {
	if h.ready != nil {
		h.ready.Close()
	}
	if h.lock != nil {
		h.lock.Unlock()
	}
	*h = Held{dir: h.dir}
}

func (h *Held) hold(dir string) error {
	me, err := Of(os.Getpid())
	if err != nil {
		return err
	}
	// The FIFO is there before the lock names this process, so that whoever finds the name can wait for the end.
	path, fifo := filepath.Join(dir, lockName), filepath.Join(dir, fifoName)
	for deadline := time.Now().Add(holdBound); ; time.Sleep(5 * time.Millisecond) {
		if h.lock, err = lockfile.Try(path, fifo); err == nil {
			break
		}
		if !errors.Is(err, lockfile.ErrHeld) {
			return err
		}
		if time.Now().After(deadline) {
			if other, err := readIdentity(dir); err == nil {
				return fmt.Errorf("%w: process %d", ErrHeld, other.PID)
			}
			return ErrHeld
		}
	}

	// This must come after the lock: End marks first and then looks at the lock, so either this
	// sees the mark or End sees the lock.
	if why, ended := Ended(dir); ended {
		return fmt.Errorf("%w: %s", ErrEnded, why)
	}
	text, err := json.Marshal(me)
	if err != nil {
		return err
	}
	return h.lock.Write(text)
}

// Alive reports whether a process runs in dir; none does if dir does not exist.
func Alive(dir string) (bool, error) {
	held, err := lockfile.IsHeld(filepath.Join(dir, lockName))
	if err != nil {
		return false, fmt.Errorf("cannot tell whether a process runs in %s: %w", dir, err)
	}
	return held, nil
}

// Holder returns the process that runs in dir. The error wraps ErrNotHeld when none does.
func Holder(dir string) (Identity, error) {
	// A process that has just taken the lock needs a moment to write its identity.
	for deadline := time.Now().Add(time.Second); ; time.Sleep(2 * time.Millisecond) {
		alive, err := Alive(dir)
		if err == nil && !alive {
			err = ErrNotHeld
		}
		if err != nil {
			return Identity{}, fmt.Errorf("cannot tell which process runs in %s: %w", dir, err)
		}
		id, err := readIdentity(dir)
		if err == nil && id.Alive() {
			return id, nil
		}
		if time.Now().After(deadline) {
			return Identity{}, fmt.Errorf("cannot tell which process runs in %s: its lock names none that lives", dir)
		}
	}
}

func readIdentity(dir string) (id Identity, err error) {
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return id, err
	}
	err = json.Unmarshal(text, &id)
	return id, err
}

// WaitEnd returns nil once no process runs in dir. If one ends and another takes its place at
// the same moment, it may wait for that one.
func WaitEnd(ctx context.Context, dir string) error {
	pause := newPause(time.Millisecond, 100*time.Millisecond)
	for {
		if err := lockfile.AwaitRelease(ctx, filepath.Join(dir, fifoName)); err != nil {
			return err
		}
		// The FIFO is closed a moment before the lock is released, and opened a
		// moment after it is taken. The lock is what counts.
		alive, err := Alive(dir)
		if err != nil || !alive {
			return err
		}
		if err := pause.wait(ctx); err != nil {
			return err
		}
	}
}

// readyVariable names the descriptor on which Start waits for the process it has started.
const readyVariable = "JUJU_READY_FD"

// takeReady returns that descriptor, or nil if there is none, and hides it from this process's
// children.
func takeReady() *os.File {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		return nil
	}
	os.Unsetenv(readyVariable)
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "ready")
}
