package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Identity identifies a process uniquely. A pid alone does not, because the kernel reuses pids.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // when it began, in clock ticks since boot
	Boot  string `json:"boot"`  // the boot that Start counts from
}

// bootID returns a string that differs for each boot of the host.
var bootID = sync.OnceValues(func() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
})

// Boot identifies the current boot of this machine. A container has the boot id of its host's kernel, so the
// result includes the start time of its first process.
func Boot() (string, error) {
	id, err := bootID()
	if err != nil {
		return "", fmt.Errorf("cannot tell the machine's boots apart: %w", err)
	}
	first, err := readStat(1)
	if err != nil {
		return "", fmt.Errorf("cannot tell the machine's boots apart: %w", err)
	}
	return fmt.Sprintf("%s.%d", id, first.start), nil
}

// Of returns the identity of a running process.
func Of(pid int) (Identity, error) {
	boot, err := bootID()
	if err != nil {
		return Identity{}, fmt.Errorf("cannot tell boots apart: %w", err)
	}
	st, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: st.pid, Start: st.start, Boot: boot}, nil
}

// Alive reports whether the process still runs. A zombie does not.
func (id Identity) Alive() bool {
	_, ok, err := id.stat()
	return ok && err == nil
}

// Runs is Alive for callers that must not take a process for ended if its state can't be read.
func (id Identity) Runs() (bool, error) {
	_, ok, err := id.stat()
	return ok, err
}

// stat returns the kernel's record of the process; ok is false if it has ended.
func (id Identity) stat() (st stat, ok bool, err error) {
	boot, err := bootID()
	if err != nil || boot != id.Boot {
		return stat{}, false, err
	}
	st, err = readStat(id.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return stat{}, false, nil
	}
	if err != nil || st.start != id.Start || st.ended() {
		return stat{}, false, err
	}
	return st, true, nil
}

// Program returns the file of the program that the process runs. The error is not nil if it has ended.
func (id Identity) Program() (string, error) {
	path, err := os.Readlink("/proc/" + strconv.Itoa(id.PID) + "/exe")
	if err == nil && !id.Alive() {
		err = fmt.Errorf("process %d has ended", id.PID)
	}
	return path, err
}

// Programs returns the files of all running programs that this user may see.
func Programs() ([]string, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, st := range all {
		if path, err := os.Readlink("/proc/" + strconv.Itoa(st.pid) + "/exe"); err == nil {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// stat is the part of /proc/PID/stat that matters here.
type stat struct {
	name                       string // of the program, truncated by the kernel
	pid, parent, pgrp, session int
	state                      byte
	threads                    int
	start                      uint64
	kernel                     bool // a kernel thread
	hasEnv                     bool // its environment is readable, even if empty
}

// ended reports whether all threads of the process have ended. Its first thread can be a zombie while others
// still hold its files and locks.
func (s stat) ended() bool { return s.state == 'X' || s.state == 'Z' && s.threads <= 1 }

// leads reports whether the process is a session leader.
func (s stat) leads() bool { return s.session == s.pid }

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	// The second field is the program's name in parentheses, which may itself contain blanks
	// and parentheses.
	i := bytes.LastIndexByte(b, ')')
	fields := bytes.Fields(b[i+1:])
	if i < 0 || len(fields) < 49 {
		return stat{}, fmt.Errorf("cannot read /proc/%d/stat: %q", pid, b)
	}
	st := stat{name: string(b[bytes.IndexByte(b, '(')+1 : i]), pid: pid, state: fields[0][0]}
	number := func(field int) uint64 {
		n, errField := strconv.ParseUint(string(fields[field]), 10, 64)
		err = errors.Join(err, errField)
		return n
	}
	const kernelThread = 0x200000 // PF_KTHREAD
	st.parent, st.pgrp, st.session = int(number(1)), int(number(2)), int(number(3))
	st.kernel = number(6)&kernelThread != 0
	st.threads, st.start = int(number(17)), number(19)
	st.hasEnv = string(fields[48]) != "0"
	return st, err
}

// signal sends sig to the process that s was read from, if it still exists.
func (s stat) signal(sig syscall.Signal) error {
	// FindProcess pins the process with a pidfd if the kernel supports it, so that the signal goes to the
	// process that is compared next.
	p, err := os.FindProcess(s.pid)
	if err != nil {
		return err
	}
	defer p.Release()
	now, err := readStat(s.pid)
	if err != nil || now.start != s.start || now.ended() {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send %v to process %d: %w", sig, s.pid, err)
	}
	return nil
}

// processes returns all processes that have not ended.
func processes() ([]stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if st, err := readStat(pid); err == nil && !st.ended() {
			all = append(all, st)
		}
	}
	return all, nil
}

// group returns the live members of the process group that the process leads or led.
func group(leader Identity) (members []stat, settled bool, err error) {
	all, err := processes()
	if err != nil {
		return nil, false, err
	}
	for _, st := range all {
		switch {
		case st.pid == leader.PID && st.start != leader.Start:
			// The kernel does not reuse a pid while a group has its number. So the group is empty, and the
			// process with this pid is unrelated.
			return nil, true, nil
		case st.pgrp == leader.PID:
			members = append(members, st)
		}
	}
	return members, true, nil
}
