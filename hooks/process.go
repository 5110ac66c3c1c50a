package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// termGrace is the time between SIGTERM and SIGKILL for a hook that must end.
	termGrace = 2 * time.Second
	// killWait is how long the kernel has to end what was killed. Only a process that is stuck
	// in the kernel, or belongs to another user, takes longer.
	killWait = 10 * time.Second
)

// A Process is a hook's process and its group, so identified that neither a
// later process with the same number nor one after a reboot is taken for it.
type Process struct {
	PID   int    `json:"pid" yaml:"pid"`     // also the number of its process group
	Start uint64 `json:"start" yaml:"start"` // clock ticks since boot, as /proc/PID/stat has it
	Boot  string `json:"boot" yaml:"boot"`   // the kernel's id of this boot
	// Lock is the file of the MachineLock under which the hook runs; "" for none.
	Lock string `json:"lock,omitempty" yaml:"lock,omitempty"`
}

// identify returns the record of a process that runs.
func identify(pid int) (Process, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Process{}, err
	}
	boot, err := bootID()
	if err != nil {
		return Process{}, err
	}
	return Process{PID: pid, Start: stat.start, Boot: boot}, nil
}

// runs reports whether the recorded process is still there.
func (p Process) runs() (bool, error) {
	if p.PID <= 1 {
		return false, nil
	}
	boot, err := bootID()
	if err != nil || boot != p.Boot {
		return false, err
	}
	stat, err := readStat(p.PID)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return stat.start == p.Start && stat.group == p.PID && !stat.over(), nil
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
			return endGroup(p.PID)
		}
		lock, err := takeLock(p.Lock)
		if err == nil {
			defer lock.Unlock()
			return endGroup(p.PID)
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		waitProcess(p.PID, lockLook) // the lock's holder ends it
	}
}

// endGroup ends every process of a group.
func endGroup(group int) error {
	if err := signalGroup(group, unix.SIGTERM); err != nil {
		return err
	}
	if gone, err := waitGroup(group, termGrace); err != nil || gone {
		return err
	}
	if err := signalGroup(group, unix.SIGKILL); err != nil {
		return err
	}
	gone, err := waitGroup(group, killWait)
	if err == nil && !gone {
		err = fmt.Errorf("process group %d is still there %v after it was killed", group, killWait)
	}
	return err
}

// signalGroup sends sig to all processes of a group; an empty group is no error.
func signalGroup(group int, sig syscall.Signal) error {
	err := unix.Kill(-group, sig)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("cannot signal process group %d: %w", group, err)
	}
	return nil
}

// waitGroup waits until no process of the group runs, and reports whether that
// came to be in time.
func waitGroup(group int, timeout time.Duration) (bool, error) {
	deadline := time.Now().Add(timeout)
	for {
		members, err := groupMembers(group)
		if err != nil || len(members) == 0 {
			return err == nil, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		waitProcess(members[0], left)
	}
}

// waitProcess returns when the process has ended, or the time is over, or for
// no reason at all.
func waitProcess(pid int, timeout time.Duration) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil { // an old kernel: look again a little later
		time.Sleep(min(timeout, 10*time.Millisecond))
		return
	}
	defer unix.Close(fd)
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, max(1, int(timeout.Milliseconds())))
}

// groupMembers returns the running processes of a group. Zombies don't count: in a container
// whose first process does not reap, they may stay for ever.
func groupMembers(group int) ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var members []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := readStat(pid); err == nil && stat.group == group && !stat.over() {
			members = append(members, pid)
		}
	}
	return members, nil
}

// procStat is what of /proc/PID/stat is of interest.
type procStat struct {
	state byte
	group int
	start uint64
}

// over reports whether the process has ended and only waits to be reaped.
func (s procStat) over() bool { return s.state == 'Z' || s.state == 'X' }

// readStat reads /proc/PID/stat. The error is os.ErrNotExist or syscall.ESRCH when there is no
// such process.
func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(text)
}

// parseStat takes a line of /proc/PID/stat apart. The second field is a name
// in parentheses, which may hold anything, more parentheses too.
func parseStat(text []byte) (stat procStat, err error) {
	_, rest, ok := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	fields := strings.Fields(string(rest)) // fields[0] is the third of the line
	if !ok || len(fields) < 20 || len(fields[0]) != 1 {
		return procStat{}, fmt.Errorf("cannot understand the status of a process: %q", text)
	}
	stat.state = fields[0][0]
	if stat.group, err = strconv.Atoi(fields[2]); err != nil {
		return procStat{}, err
	}
	stat.start, err = strconv.ParseUint(fields[19], 10, 64)
	return stat, err
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}
