// Package cgroup reads how much memory the kernel lets a process use, and whether it has killed one
// for using more. It knows both versions of control groups.
package cgroup

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory the groups of this process can use together: the least that
// its group or one above it allows. It is false if none has a limit, or no group can be seen. root is
// the root of the file system.
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
	// Version 1 writes no limit as a number that is the largest multiple of a page.
	return bytes, bytes < math.MaxInt64/2
}

// Kills returns how many processes the kernel has killed in the group of this process, because memory
// was used up. Only a difference between two calls means anything.
func Kills(root fs.FS) int64 {
	if own, files, ok := group(root); ok {
		if n, ok := field(read(root, path.Join(files.mount, own, files.events)), "oom_kill"); ok {
			return n
		}
	}
	n, _ := field(read(root, "proc/vmstat"), "oom_kill") // in all groups
	return n
}

// files are where a version of control groups has what is read here.
type files struct{ mount, limit, events string }

var (
	version1 = files{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"}
	version2 = files{"sys/fs/cgroup", "memory.max", "memory.events"}
)

// group returns the group of this process that its memory counts in, relative to where groups are mounted.
func group(root fs.FS) (own string, where files, ok bool) {
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		// In a namespace the path can begin with "/..", for what can't be seen.
		inside := strings.TrimPrefix(path.Clean("/"+parts[2]), "/")
		if inside == "" {
			inside = "."
		}
		switch {
		case parts[1] == "memory": // on a system with both versions too
			where, own = version1, inside
		case parts[0] == "0" && parts[1] == "" && !ok:
			where, own = version2, inside
		default:
			continue
		}
		ok = true
	}
	if _, err := fs.Stat(root, path.Join(where.mount, own)); err != nil {
		own = "." // the mount may begin at the group, as in a container
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
