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

// killedName is the file that records that the previous process was killed. If systemd restarts the process,
// the service writes the file; see agent/install.
const killedName = "killed"

// Killed describes how and when the previous process in dir was killed, and returns how long ago that was. It
// returns "" if the process was not killed.
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

// children maps directories to channels that receive the exit state of the last child started there.
var children sync.Map

// killed reports whether the process that ran in dir was killed. It can tell only for a child of this process.
func killed(dir string) bool {
	how, ok := children.LoadAndDelete(dir)
	if !ok {
		return false
	}
	select {
	case state := <-how.(chan *os.ProcessState):
		status, ok := state.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	case <-time.After(time.Second): // it has released its directory, so it should have exited by now
		return false
	}
}

// noteKill records whether the process in dir was killed, for its successor and for users. outOfMemory means
// that the kernel's OOM killer was active while the process ran.
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
	logger.Errorf("process in %s: %s", dir, how)
	if err := atomicfile.WriteFile(path, []byte(how+"\n"), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Warningf("%v", err)
	}
}
