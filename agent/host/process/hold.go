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
	"juju/state/entity/backoff"
)

const (
	lockName  = "lock"
	fifoName  = "alive"
	startName = "start.lock"
	endedName = "ended"
	logName   = "log"
)

// holdBound limits how long Hold tries. Other processes hold the lock briefly when they check it; and when a
// holder is killed, children that it has just forked keep copies of the lock until they exec.
const holdBound = 3 * time.Second

// ErrHeld is wrapped by Hold's error when another process holds the directory.
var ErrHeld = errors.New("another process runs there")

// ErrNotHeld is wrapped by Holder's error when no process holds the directory.
var ErrNotHeld = errors.New("no process runs there")

// Held is a directory that this process holds. It is released when the process exits, however that happens,
// but not when the Held becomes unreachable.
type Held struct {
	dir   string
	lock  *lockfile.Lock // nil until it is held
	ready *os.File       // the pipe to a waiting Start; nil if there is none
}

// Hold makes this process the one that runs in dir, which must exist, and notifies the Start that waits for
// it. The error wraps ErrHeld if another process still runs there after a few seconds, and ErrEnded if the
// process in dir has been marked as ended, even after this one was started. In both cases this process must
// exit.
func Hold(dir string) (*Held, error) {
	h, err := HoldStarting(dir)
	if err != nil {
		return nil, err
	}
	h.Ready()
	return h, nil
}

// HoldStarting is Hold for a process that is not ready yet: the Start that waits for it keeps waiting until
// Ready.
func HoldStarting(dir string) (*Held, error) {
	h := &Held{dir: dir, ready: takeReady()}
	if err := h.hold(dir); err != nil {
		h.Close()
		return nil, fmt.Errorf("cannot hold %s: %w", dir, err)
	}
	return h, nil
}

// Ready notifies the Start that waits for this process, if any, that it is ready.
func (h *Held) Ready() {
	if h.ready == nil {
		return
	}
	// An error means that the starter has exited, which does not matter.
	h.ready.Write([]byte{1})
	h.ready.Close()
	h.ready = nil
}

// ErrRemoved is wrapped by the errors of AwaitRemoval and Supervise if the directory was removed.
var ErrRemoved = errors.New("its directory was removed")

func removed(dir string) error { return fmt.Errorf("%w: %s", ErrRemoved, dir) }

// removalPoll is the interval at which AwaitRemoval polls. It does not use inotify, because a user has few
// instances and every process would need one.
const removalPoll = 2 * time.Second

// AwaitRemoval waits until the directory that this process holds is removed or replaced. Then no one can find
// this process any more, and it must exit. The error wraps ErrRemoved, or is ctx's cause if ctx is done
// first.
func (h *Held) AwaitRemoval(ctx context.Context) error {
	poll := time.NewTicker(removalPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
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

// Close releases the directory. Only a process that continues without the directory should call it; any other
// should just exit, so that no other process takes its place before that.
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
	// The FIFO exists before the lock identifies this process, so that whoever reads the identity can wait
	// for the exit.
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

	// This must come after taking the lock: End sets the mark and then checks the lock, so either this sees
	// the mark or End sees the lock.
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
			return Identity{}, fmt.Errorf("cannot tell which process runs in %s: its lock identifies none that is alive", dir)
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

// WaitEnd waits until no process runs in dir. If another process replaces the one that exits, it may wait for
// that one too.
func WaitEnd(ctx context.Context, dir string) error {
	pause := backoff.New(time.Millisecond, 100*time.Millisecond)
	for {
		if err := lockfile.AwaitRelease(ctx, filepath.Join(dir, fifoName)); err != nil {
			return err
		}
		// The FIFO is closed shortly before the lock is released, and opened shortly after it is taken. Only
		// the lock is authoritative.
		alive, err := Alive(dir)
		if err != nil || !alive {
			return err
		}
		if err := pause.Sleep(ctx); err != nil {
			return err
		}
	}
}

// readyVariable is the environment variable with the descriptor of the pipe on which Start waits for its child.
const readyVariable = "JUJU_READY_FD"

// takeReady returns that pipe, or nil if there is none, and hides it from this process's children.
func takeReady() *os.File {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil {
		return nil
	}
	os.Unsetenv(readyVariable)
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "ready")
}
