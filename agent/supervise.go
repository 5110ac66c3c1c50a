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
	"juju/state/entity"
)

// hostVariable marks the processes of a host without systemd that belong to a machine's agent, by the
// agent's directory. Children inherit it, hooks too.
const hostVariable = "JUJU_HOST_AGENT"

// logins are the programs by which users reach their hosts. A hook's installation of packages may have started
// the host's own again, with the hook's environment; without it the owner would be locked out.
var logins = []string{"sshd", "sshd-session", "dropbear"}

// systemPath is the environment of what removes everything. A user who has become root may have another PATH,
// on which the system's commands are not.
const systemPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// leavePause is the pause between two attempts to take an agent off its host, as systemd makes it.
const leavePause = 3 * time.Second

// hasSystemd reports whether this host runs systemd.
func hasSystemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// supervisorDir is the directory that the supervisor holds.
func (a *Agent) supervisorDir() string { return filepath.Join(a.dir, "supervisor") }

// holdSupervisor makes this process the supervisor of the machine's agent.
func (a *Agent) holdSupervisor() error {
	if err := os.Mkdir(a.supervisorDir(), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if _, err := process.Hold(a.supervisorDir()); err != nil {
		return fmt.Errorf("cannot supervise the agent of %s: %w", a.config.Tag, err)
	}
	return nil
}

// supervise keeps the machine's agent running where there is no systemd. When the agent has ended for
// good, it takes a manual machine off its host; not when the agent's directory is gone, which no one has
// asked for: its disk may only be unmounted. After ctx the agent goes on.
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
	for { // what keeps it from leaving, such as a full disk, may pass
		err := a.leaveHost(ctx)
		if ctx.Err() != nil {
			return err
		}
		logger.Errorf("%v; trying again in %v", err, leavePause)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(leavePause):
		}
	}
}

// leaveHost takes a manual machine's agent, which has ended for good, off a host without systemd. This
// process is its supervisor, and becomes what removes everything.
func (a *Agent) leaveHost(ctx context.Context) error {
	err := process.EndMarked(ctx, hostVariable, func(dir, program string) bool {
		return dir == a.dir && !slices.Contains(logins, program)
	}, recallGrace)
	if err == nil {
		err = a.proxies().Restore()
	}
	if err == nil {
		// If that is interrupted, what starts the supervisor when the host boots goes on.
		err = syscall.Exec("/bin/sh", []string{"sh", "-c", install.Removal(a.config.Tag.ID)}, []string{systemPath})
	}
	return fmt.Errorf("cannot uninstall the agent of %s: %w", a.config.Tag, err)
}

// uninstallNow takes a manual machine's agent off its host, because a user of the host says so: its
// controller is gone.
func (a *Agent) uninstallNow(ctx context.Context) error {
	const why = "uninstalled by a user of the host"
	switch {
	case !a.config.Manual:
		return entity.Errorf(entity.Invalid, "cannot uninstall the agent of %s: it is not on a host that a user has added",
			a.config.Tag)
	case hasSystemd():
		// While it runs, the agent could write what is about to be taken back.
		if err := process.End(ctx, a.dir, why, recallGrace); err != nil {
			return err
		}
		return a.uninstall(ctx)
	}
	// A supervisor that runs does the rest. To take its place when it removes everything would make again what it
	// has just removed.
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
