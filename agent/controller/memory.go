package controller

import (
	"io/fs"
	"os"
	"runtime/debug"

	"juju/agent/host/cgroup"
	"juju/agent/host/process"
)

// memoryShare is how much of a control group's memory, in percent, the process plans to use. The rest is for
// what Go's heap does not count: its program, the kernel's buffers, other processes in the group.
const memoryShare = 85

// LimitMemory makes the garbage collector work harder before the process reaches the limit of its control
// group, where the kernel would kill it. GOMEMLIMIT, if it is set, counts instead. root is the root of the
// file system.
func LimitMemory(root fs.FS) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, ok := cgroup.Memory(root); ok {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}

// sayLast logs that the controller before this one was killed. Its own log ends without a word.
func sayLast(own string) {
	if how, _ := process.Killed(own); how != "" {
		logger.Errorf("the controller before this one: %s", how)
	}
}
