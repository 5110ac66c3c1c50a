// Package cgroup reads a process's memory limit, and how often the kernel has killed a process for exceeding
// it. It supports both versions of control groups.
package cgroup

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory returns the memory limit of this process in bytes: the lowest limit of its group and the groups
// above it. It returns false if there is no limit, or no group is visible. root is the root of the file
// system.
func Memory(root fs.FS) (bytes int64, limited bool) {
	own, files, ok := group(root)
	bytes = math.MaxInt64
	for ok {
		if n, err := strconv.ParseInt(read(root, path.Join(files.mount, own, files.limit)), 10, 64); err == nil {
			bytes = min(bytes, n)
		}
		if own == "." {
			break
		}
		own = path.Dir(own)
	}
	// Version 1 represents the absence of a limit as the largest multiple of the page size.
	return bytes, bytes < math.MaxInt64/2
}

// Kills returns how many processes of this process's group the OOM killer has killed. Only the difference
// between two calls is meaningful.
func Kills(root fs.FS) int64 {
	if own, files, ok := group(root); ok {
		if n, ok := field(read(root, path.Join(files.mount, own, files.events)), "oom_kill"); ok {
			return n
		}
	}
	n, _ := field(read(root, "proc/vmstat"), "oom_kill") // in all groups
	return n
}

// files has the locations of a control group version's files.
type files struct{ mount, limit, events string }

var (
	version1 = files{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"}
	version2 = files{"sys/fs/cgroup", "memory.max", "memory.events"}
)

// group returns the memory control group of this process, relative to the mount point.
func group(root fs.FS) (own string, where files, ok bool) {
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		// In a namespace the path can begin with "/..", for groups outside of it.
		inside := strings.TrimPrefix(path.Clean("/"+parts[2]), "/")
		if inside == "" {
			inside = "."
		}
		switch {
		case parts[1] == "memory": // takes precedence on a system with both versions
			where, own = version1, inside
		case parts[0] == "0" && parts[1] == "" && !ok:
			where, own = version2, inside
		default:
			continue
		}
		ok = true
	}
	if _, err := fs.Stat(root, path.Join(where.mount, own)); err != nil {
		own = "." // in a container the group itself may be mounted
	}
	return own, where, ok
}

// field returns the number after a word at the beginning of a line.
func field(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		if word, rest, _ := strings.Cut(line, " "); word == name {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func read(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
