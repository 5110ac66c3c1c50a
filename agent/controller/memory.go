package controller

import (
	"io/fs"
	"os"
	"runtime/debug"

	"juju/agent/host/cgroup"
)

// memoryShare is the percentage of the control group's memory limit that Go's runtime may use. The rest is
// for the executable, kernel buffers and other processes in the group.
const memoryShare = 85

// LimitMemory sets Go's memory limit below that of the control group, so that the garbage collector works
// harder before the kernel would kill the process. GOMEMLIMIT takes precedence if set. root is the root of
// the file system.
func LimitMemory(root fs.FS) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, ok := cgroup.Memory(root); ok {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}
