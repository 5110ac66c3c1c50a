package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"juju/agent/host/atomicfile"
	"juju/agent/host/cgroup"
)

// killedName is the file that says that the process before this one was killed. Where systemd restarts the
// process it writes the file; see agent/install.
const killedName = "killed"

// Killed returns how the last process in dir was killed, with the time, and how long ago; "" if it ended in
// another way.
func Killed(dir string) (how string, ago time.Duration) {
	path := filepath.Join(dir, killedName)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", 0
	}
	return strings.TrimSpace(string(text)), time.Since(info.ModTime())
}

// children has, by directory, a channel with how the last process ended that this one has started there.
var children sync.Map

// killed reports whether the process that ran in dir was killed. It knows that only of one that this process
// has started.
func killed(dir string) bool {
	how, ok := children.LoadAndDelete(dir)
	if !ok {
		return false
	}
	select {
	case state := <-how.(chan *os.ProcessState):
		status, ok := state.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	case <-time.After(time.Second): // it has released its directory, and is about to be gone
		return false
	}
}

// noteKill writes down that the process in dir was killed, for the next one and for users, or that it was
// not. outOfMemory says that the kernel has killed a process meanwhile, since memory was used up.
func noteKill(dir string, killed, outOfMemory bool) {
	path := filepath.Join(dir, killedName)
	if !killed {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			logger.Warningf("%v", err)
		}
		return
	}
	how := "it was killed (SIGKILL) at " + time.Now().Format(time.RFC3339)
	if outOfMemory {
		how = "the kernel killed it at " + time.Now().Format(time.RFC3339) + ", because memory was used up"
		if limit, ok := cgroup.Memory(os.DirFS("/")); ok {
			how += fmt.Sprintf(" (its control group has %d MiB)", limit>>20)
		}
	}
	logger.Errorf("what runs in %s: %s", dir, how)
	if err := atomicfile.WriteFile(path, []byte(how+"\n"), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Warningf("%v", err)
	}
}
