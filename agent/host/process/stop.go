package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"juju/agent/host/lockfile"
	"juju/state/entity/backoff"
)

// killBound is how long a killed process may take to disappear. A system call can delay its death.
const killBound = 10 * time.Second

// Stop terminates the process that runs in dir and its process group, with SIGTERM, and after grace with
// SIGKILL. It waits until all have exited, and returns nil if none runs there. A supervisor may restart the
// process unless MarkEnded is called first.
func Stop(ctx context.Context, dir string, grace time.Duration) error {
	id, err := Holder(dir)
	if errors.Is(err, ErrNotHeld) {
		return nil
	}
	if err == nil && id.PID == os.Getpid() {
		err = errors.New("it is this one")
	}
	if err != nil {
		return fmt.Errorf("cannot stop the process in %s: %w", dir, err)
	}
	members := func() ([]stat, bool, error) { return group(id) }
	if st, ok, _ := id.stat(); ok && st.pgrp != st.pid {
		// It was started by hand, in a group with its shell, which must not be killed.
		members = func() ([]stat, bool, error) {
			st, ok, err := id.stat()
			if err != nil || !ok {
				return nil, err == nil, err
			}
			return []stat{st}, true, nil
		}
	}
	err = end(ctx, members, grace)
	if err == nil {
		err = released(ctx, dir, id)
	}
	if err != nil {
		return fmt.Errorf("cannot stop the process in %s: %w", dir, err)
	}
	return nil
}

// released waits until a process that has exited no longer holds the directory. A child that it was about to
// exec can hold the directory slightly longer, and a start at that moment would fail.
func released(ctx context.Context, dir string, id Identity) error {
	ctx, cancel := context.WithTimeoutCause(ctx, killBound,
		fmt.Errorf("it is still locked %v after process %d ended", killBound, id.PID))
	defer cancel()
	pause := backoff.New(time.Millisecond, 20*time.Millisecond)
	for {
		alive, err := Alive(dir)
		if err != nil || !alive {
			return err
		}
		if now, err := readIdentity(dir); err == nil && now != id {
			return nil // a supervisor has started another
		}
		if pause.Sleep(ctx) != nil {
			return context.Cause(ctx)
		}
	}
}

// End stops the process in dir permanently: it calls MarkEnded and Stop, and makes a start in progress fail.
// It returns nil if the directory does not exist.
func End(ctx context.Context, dir, why string, grace time.Duration) error {
	turn, err := lockfile.Take(ctx, filepath.Join(dir, startName), "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot end the process in %s: %w", dir, err)
	}
	defer turn.Unlock()
	if err := MarkEnded(dir, why); err != nil {
		return err
	}
	return Stop(ctx, dir, grace)
}

// EndGroup terminates the process group that the process leads or led, as Stop does. If grace is 0 it kills
// the group immediately. It returns nil if there is no such group.
func EndGroup(ctx context.Context, leader Identity, grace time.Duration) error {
	return end(ctx, func() ([]stat, bool, error) { return group(leader) }, grace)
}

// EndMarked terminates, as Stop does, every process of this user (of any user if this is root) whose environment
// variable key has a value that match accepts, and every process in a session that such a process leads. Children
// inherit the variable, so this finds daemons too. match also gets the name of the program. The calling
// process is spared.
func EndMarked(ctx context.Context, key string, match func(value, program string) bool, grace time.Duration) error {
	err := end(ctx, func() ([]stat, bool, error) { return marked(key, match) }, grace)
	if err != nil {
		return fmt.Errorf("cannot end the processes with %s: %w", key, err)
	}
	return nil
}

// Marks returns the distinct values of the variable key in the environments of the processes that EndMarked
// considers, in no particular order.
func Marks(key string) ([]string, error) {
	seen := map[string]bool{}
	var values []string
	_, _, err := marked(key, func(value, _ string) bool {
		if !seen[value] {
			seen[value] = true
			values = append(values, value)
		}
		return false
	})
	return values, err
}

// marked lists the processes for EndMarked. The list is settled unless there are processes whose environment
// can't be read because they are in the middle of an exec or an exit.
func marked(key string, match func(value, program string) bool) (found []stat, settled bool, err error) {
	all, err := processes()
	if err != nil {
		return nil, false, err
	}
	settled = true
	sessions := map[int]bool{}
	matches := make([]bool, len(all))
	mine := make([]bool, len(all))
	for i, st := range all {
		if st.kernel || st.pid == os.Getpid() || !mayEnd(st.pid) {
			continue
		}
		mine[i] = true
		env, err := os.ReadFile("/proc/" + strconv.Itoa(st.pid) + "/environ")
		if !st.hasEnv && len(env) == 0 && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			settled = false
		}
		if value, ok := lookup(env, key); ok && match(value, st.name) {
			matches[i] = true
			if st.leads() {
				sessions[st.session] = true
			}
		}
	}
	for i, st := range all {
		if mine[i] && (matches[i] || sessions[st.session]) {
			found = append(found, st)
		}
	}
	return found, settled, nil
}

// mayEnd reports whether EndMarked may terminate a process: one of this user, or for root one of any user,
// because daemons started by root switch users. Processes in containers are spared, because a container may
// be a host of its own.
func mayEnd(pid int) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(proc)
	if err != nil {
		return false
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(sys.Uid) == os.Geteuid() {
		return true
	}
	theirs, err := os.Readlink(proc + "/ns/pid")
	own, errOwn := os.Readlink("/proc/self/ns/pid")
	return os.Geteuid() == 0 && err == nil && errOwn == nil && theirs == own
}

// lookup returns the value of a variable in the content of /proc/PID/environ, which is the environment at the
// process's last exec.
func lookup(env []byte, key string) (string, bool) {
	if !bytes.Contains(env, []byte(key)) {
		return "", false
	}
	for _, pair := range strings.Split(string(env), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok && name == key {
			return value, true
		}
	}
	return "", false
}

// lister finds the processes to terminate. If it finds none and is not settled, it must be called again.
type lister func() (found []stat, settled bool, err error)

// settleBound is how long an unsettled list must stay empty to be treated as empty: on a busy host some
// process is always starting or exiting.
const settleBound = 500 * time.Millisecond

// end terminates the processes that list finds, including those that appear in the meantime, and kills the
// rest after grace. A process that handles SIGTERM may start others to clean up, which get no SIGTERM.
func end(ctx context.Context, list lister, grace time.Duration) error {
	seen := map[int]uint64{} // the start of each process of the earlier rounds, by pid
	left, err := each(ctx, list, grace, func(all []stat) (err error) {
		fresh := slices.DeleteFunc(slices.Clone(all), func(st stat) bool { return seen[st.pid] == st.start })
		for _, st := range fresh {
			if _, cleanup := seen[st.parent]; !cleanup {
				// A stopped process would not act on SIGTERM without SIGCONT.
				err = errors.Join(err, st.signal(syscall.SIGTERM), st.signal(syscall.SIGCONT))
			}
		}
		for _, st := range fresh {
			seen[st.pid] = st.start
		}
		return err
	})
	if err != nil || len(left) == 0 {
		return err
	}
	return kill(ctx, list)
}

// kill kills the processes that list finds until it finds none.
func kill(ctx context.Context, list lister) error {
	left, err := each(ctx, list, killBound, func(all []stat) (err error) {
		for _, st := range all {
			err = errors.Join(err, st.signal(syscall.SIGKILL))
		}
		return err
	})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("process %d still exists %v after it was killed", left[0].pid, killBound)
	}
	return err
}

// living returns those of the given processes, identified by pid and start, that have not ended.
func living(some map[stat]bool) (left []stat) {
	for id := range some {
		if st, err := readStat(id.pid); err == nil && st.start == id.start && !st.ended() {
			left = append(left, st)
		}
	}
	return left
}

// each calls do with the processes that list finds, repeatedly, until there are none or the time is up. It
// returns the remaining processes. A process once found remains until it has exited, even if list no longer
// finds it: the environment of an exiting process can't be read.
func each(ctx context.Context, list lister, bound time.Duration, do func([]stat) error) ([]stat, error) {
	pause := backoff.New(time.Millisecond, 50*time.Millisecond)
	deadline := time.Now().Add(bound)
	var empty time.Time // since when the list has been empty
	found := map[stat]bool{}
	for {
		left, settled, err := list()
		for _, st := range left {
			found[stat{pid: st.pid, start: st.start}] = true
		}
		if len(left) == 0 {
			left = living(found)
		}
		switch {
		case err != nil:
			return nil, err
		case len(left) > 0:
			empty = time.Time{}
			if !time.Now().Before(deadline) {
				return left, nil
			}
		case settled:
			return nil, nil
		case empty.IsZero():
			empty = time.Now()
		case time.Since(empty) > settleBound:
			return nil, nil
		}
		if err := do(left); err != nil {
			return nil, err
		}
		if err := pause.Sleep(ctx); err != nil {
			return nil, err
		}
	}
}
