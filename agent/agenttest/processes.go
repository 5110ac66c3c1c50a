package agenttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"juju/agent"
	"juju/agent/host/process"
	"juju/doc/tools/verify"
	"juju/state/entity"
)

// Processes is an agent.Host that runs agents of units as processes, which a test can kill.
type Processes struct {
	Program string // unit-agent, with hook-tool beside it

	mu sync.Mutex // held while an agent is started or killed
}

// Start starts the agent in dir unless it runs.
func (p *Processes) Start(ctx context.Context, dir string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := process.Start(ctx, process.Spec{Dir: dir, Path: p.Program, Args: []string{dir}})
	return err
}

// WaitEnd returns nil when no agent runs in dir.
func (p *Processes) WaitEnd(ctx context.Context, dir string) error { return process.WaitEnd(ctx, dir) }

// End ends the agent in dir for good.
func (p *Processes) End(ctx context.Context, dir, why string) error {
	return process.End(ctx, dir, why, 10*time.Second)
}

// Kill kills the agent of a unit in dir, and calls then before it can start again. Its hook, if
// one runs, goes on. Kill reports whether an agent ran there.
func (p *Processes) Kill(ctx context.Context, dir string, then func()) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	config, err := agent.ReadConfig(dir)
	if err != nil {
		return false, unless(fs.ErrNotExist, err)
	}
	if config.Principal != "" { // whose agent would start it
		principal, err := process.Holder(filepath.Join(filepath.Dir(dir), entity.UnitTag(config.Principal).String()))
		if err != nil {
			return false, unless(process.ErrNotHeld, err)
		}
		if err := syscall.Kill(principal.PID, syscall.SIGSTOP); err != nil {
			return false, unless(syscall.ESRCH, err)
		}
		defer syscall.Kill(principal.PID, syscall.SIGCONT)
	}
	id, err := process.Holder(dir)
	if err != nil {
		return false, unless(process.ErrNotHeld, err)
	}
	if err := syscall.Kill(id.PID, syscall.SIGKILL); err != nil {
		return false, unless(syscall.ESRCH, err)
	}
	if err := process.WaitEnd(ctx, dir); err != nil {
		return false, err
	}
	then()
	return true, nil
}

// unless returns err, or nil if it is what.
func unless(what, err error) error {
	if errors.Is(err, what) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Burn kills all processes that run below a directory: agents, hooks, and what these have started.
func (p *Processes) Burn(root string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for end := time.Now().Add(verify.Patience); time.Now().Before(end); {
		links, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			return err
		}
		found := false
		for _, link := range links {
			cwd, err := os.Readlink(link)
			if err != nil || !within(root, strings.TrimSuffix(cwd, " (deleted)")) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			if err != nil {
				return err
			}
			found = true
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
		if !found {
			return nil
		}
		time.Sleep(5 * time.Millisecond) // until the kernel has ended them
	}
	return fmt.Errorf("processes below %s do not end", root)
}
