package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"juju/provider/cloudinit"
	"juju/provider/process"
	"juju/state/entity"
)

// hostVariable marks the processes of a host without systemd that belong to a machine's agent, by the
// agent's directory. Children inherit it.
const hostVariable = "JUJU_HOST_AGENT"

// systemPath is the environment of what removes everything. A user who has become root may have another PATH,
// on which the system's commands are not.
const systemPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// hasSystemd reports whether this host runs systemd.
func hasSystemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// supervise keeps the machine's agent running where there is no systemd. When the agent has ended for
// good, it takes a manual machine off its host. After ctx the agent goes on.
func (a *Agent) supervise(ctx context.Context) error {
	dir := filepath.Join(a.dir, "supervisor")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if _, err := process.Hold(dir); err != nil {
		return fmt.Errorf("cannot supervise the agent of %s: %w", a.config.Tag, err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = process.Supervise(ctx, process.Spec{Dir: a.dir, Path: self, Args: []string{a.dir},
		Env: []string{hostVariable + "=" + a.dir}})
	if err != nil || !a.config.Manual {
		return err
	}
	err = process.EndMarked(ctx, hostVariable, func(dir string) bool { return dir == a.dir }, recallGrace)
	if err == nil {
		err = a.proxies().Restore()
	}
	if err == nil {
		// If that is interrupted, what starts the supervisor when the host boots goes on.
		err = syscall.Exec("/bin/sh", []string{"sh", "-c", cloudinit.Removal(a.config.Tag.ID)}, []string{systemPath})
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
		if err := process.MarkEnded(a.dir, why); err != nil {
			return err
		}
		return a.uninstall(ctx)
	}
	err := process.End(ctx, a.dir, why, recallGrace)
	if err == nil {
		err = a.supervise(ctx)
	}
	if errors.Is(err, process.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil // the supervisor that runs does the rest, or has done it
	}
	return err
}
