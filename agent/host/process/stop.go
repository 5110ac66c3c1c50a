package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"juju/agent/host/lockfile"
)

// killBound is how long a killed process may take to disappear. The kernel can hold one in a
// system call for a while.
const killBound = 10 * time.Second

// Stop ends the process that runs in dir, and its process group: with SIGTERM, and after grace
// with SIGKILL. It returns when all are gone; nil if nothing runs there. It doesn't keep a
// supervisor from starting the process again: for that, call MarkEnded first.
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
		// Started by hand, in a group with its shell, which must not be ended.
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

// released waits until a process that has ended no longer holds the directory. A child that it
// was about to exec can hold it for a moment longer, and a start in that moment would fail.
func released(ctx context.Context, dir string, id Identity) error {
	ctx, cancel := context.WithTimeoutCause(ctx, killBound,
		fmt.Errorf("it is still locked %v after process %d ended", killBound, id.PID))
	defer cancel()
	pause := newPause(time.Millisecond, 20*time.Millisecond)
	for {
		alive, err := Alive(dir)
		if err != nil || !alive {
			return err
		}
		if now, err := readIdentity(dir); err == nil && now != id {
			return nil // a supervisor has started another
		}
		if pause.wait(ctx) != nil {
			return context.Cause(ctx)
		}
	}
}

// End ends the process in dir for good: it marks it as MarkEnded does, and stops it as Stop
// does. A start in progress fails. It returns nil if the directory does not exist.
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

// EndGroup ends the process group that the process leads or led, as Stop does; with grace 0 it kills it at once. It
// returns nil if there is none.
func EndGroup(ctx context.Context, leader Identity, grace time.Duration) error {
	return end(ctx, func() ([]stat, bool, error) { return group(leader) }, grace)
}

// EndMarked ends, as Stop does, every process of this user, or of any user if this is root, whose
// environment variable key has a value that match accepts, and every process in a session that such a
// process leads. Children inherit the variable, so this finds daemons too; match also gets the name of the
// program. The calling process is spared.
func EndMarked(ctx context.Context, key string, match func(value, program string) bool, grace time.Duration) error {
	err := end(ctx, func() ([]stat, bool, error) { return marked(key, match) }, grace)
	if err != nil {
		return fmt.Errorf("cannot end the processes with %s: %w", key, err)
	}
	return nil
}

// Marks returns the distinct values of the variable key in the environments of the processes that
// EndMarked looks at, in no particular order.
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

// marked lists the processes for EndMarked. It is settled unless there are processes that can't
// be judged, because they are just executing a program or ending.
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

// mayEnd reports whether a process is this user's. Root's are also those of other users, whose identity
// the daemons take that root starts, but for those in containers: a container may be a host of its own.
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

// lookup returns the value of a variable in the content of /proc/PID/environ: the environment
// with which the process executed its program.
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

// lister finds the processes to end. If it finds none and is not settled, it must be called
// again.
type lister func() (found []stat, settled bool, err error)

// settleBound is how long a list must stay empty and unsettled to count as empty: on a busy
// host there is always some process starting or ending.
const settleBound = 500 * time.Millisecond

// end terminates the processes that list finds, including those that appear meanwhile, and
// kills the rest after grace.
func end(ctx context.Context, list lister, grace time.Duration) error {
	told := map[stat]bool{}
	left, err := each(ctx, list, grace, func(st stat) error {
		key := stat{pid: st.pid, start: st.start}
		if told[key] {
			return nil
		}
		told[key] = true
		// A stopped process would not act on SIGTERM without SIGCONT.
		return errors.Join(st.signal(syscall.SIGTERM), st.signal(syscall.SIGCONT))
	})
	if err != nil || len(left) == 0 {
		return err
	}
	return kill(ctx, list)
}

// kill kills the processes that list finds until it finds none.
func kill(ctx context.Context, list lister) error {
	left, err := each(ctx, list, killBound, func(st stat) error { return st.signal(syscall.SIGKILL) })
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("process %d is still there %v after it was killed", left[0].pid, killBound)
	}
	return err
}

// living returns those of some processes, each given by its pid and start, that have not ended.
func living(some map[stat]bool) (left []stat) {
	for id := range some {
		if st, err := readStat(id.pid); err == nil && st.start == id.start && !st.ended() {
			left = append(left, st)
		}
	}
	return left
}

// each calls do for every process that list finds, repeatedly, until there are none or time is
// up. It returns the processes that are left. One that list has found counts until it has ended: while
// it ends, list may not know it by its environment any more.
func each(ctx context.Context, list lister, bound time.Duration, do func(stat) error) ([]stat, error) {
	pause := newPause(time.Millisecond, 50*time.Millisecond)
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
		for _, st := range left {
			if err := do(st); err != nil {
				return nil, err
			}
		}
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}
