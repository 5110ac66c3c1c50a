package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"juju/agent/host/process"
	"juju/agent/install"
	"juju/hooks"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

// hostVariable marks the processes of a machine's agent on a host without systemd. Its value is the agent's
// directory. All descendants inherit it, including hooks.
const hostVariable = "JUJU_HOST_AGENT"

// logins are SSH servers, which are never killed: a package installed by a hook may have restarted the host's
// server with the hook's environment, and killing it would lock out the host's owner.
var logins = []string{"sshd", "sshd-session", "dropbear"}

// leavePause is the pause between attempts to uninstall an agent. It is the same as in the systemd service.
const leavePause = 3 * time.Second

// hasSystemd reports whether this host runs systemd.
func hasSystemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// supervisorDir is the directory that the supervisor holds.
func (a *Agent) supervisorDir() string { return filepath.Join(a.dir, "supervisor") }

// holdSupervisor makes this process the machine agent's supervisor.
func (a *Agent) holdSupervisor() error {
	if err := os.Mkdir(a.supervisorDir(), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if _, err := process.Hold(a.supervisorDir()); err != nil {
		return fmt.Errorf("cannot supervise the agent of %s: %w", a.config.Tag, err)
	}
	return nil
}

// supervise keeps the machine's agent running on a host without systemd. When the agent of a manual machine has
// terminated, it uninstalls the agent; but not if the agent's directory has disappeared, because the disk may
// merely be unmounted. The agent keeps running when ctx ends.
func (a *Agent) supervise(ctx context.Context) error {
	if err := a.holdSupervisor(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = process.Supervise(ctx, process.Spec{Dir: a.dir, Path: self, Args: []string{a.dir},
		Env: []string{hostVariable + "=" + a.dir}})
	if errors.Is(err, process.ErrRemoved) {
		return fmt.Errorf("the supervisor of %s ends: %w", a.config.Tag, err)
	}
	if err != nil || !a.config.Manual {
		return err
	}
	for { // the error may be transient, such as a full disk
		err := a.leaveHost(ctx)
		if ctx.Err() != nil {
			return err
		}
		logger.Errorf("%v; retrying in %v", err, leavePause)
		if backoff.Sleep(ctx, leavePause) != nil {
			return err
		}
	}
}

// leaveHost uninstalls the terminated agent of a manual machine from a host without systemd. This process is the
// agent's supervisor, and execs the removal script.
func (a *Agent) leaveHost(ctx context.Context) error {
	err := process.EndMarked(ctx, hostVariable, a.leaves, recallGrace)
	if err == nil {
		err = a.proxies().Restore()
	}
	if err == nil {
		// If it is interrupted, the supervisor continues when the host next boots. The PATH of a user who has become root may
		// lack the system's commands.
		err = syscall.Exec("/bin/sh", []string{"sh", "-c", install.Removal(a.config.Tag.ID)}, []string{"PATH=" + hooks.SystemPath})
	}
	return fmt.Errorf("cannot uninstall the agent of %s: %w", a.config.Tag, err)
}

// leaves reports whether a process that is marked with an agent's directory ends with this machine's agent.
func (a *Agent) leaves(dir, program string) bool {
	return dir == a.dir && !slices.Contains(logins, program)
}

// uninstallNow uninstalls a manual machine's agent at the request of a user of the host, because its
// controller no longer exists.
func (a *Agent) uninstallNow(ctx context.Context) error {
	const why = "uninstalled by a user of the host"
	switch {
	case !a.config.Manual:
		return entity.Errorf(entity.Invalid, "cannot uninstall the agent of %s: it is not on a host that a user has added",
			a.config.Tag)
	case hasSystemd():
		// A running agent could write again what is about to be restored.
		if err := process.End(ctx, a.dir, why, recallGrace); err != nil {
			return err
		}
		return a.uninstall(ctx)
	}
	// A running supervisor does the rest. Taking over from it while it removes everything would re-create
	// files that it has just removed.
	supervised, err := process.Alive(a.supervisorDir())
	if err == nil && !supervised {
		err = a.holdSupervisor()
	}
	if err == nil {
		err = process.End(ctx, a.dir, why, recallGrace)
	}
	if err != nil || supervised {
		return err
	}
	return a.leaveHost(ctx)
}
