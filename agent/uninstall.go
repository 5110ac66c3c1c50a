package agent

import (
	"context"
	"fmt"
	"time"

	"juju/agent/host/atomicfile"
	"juju/agent/install"
)

// systemctlBound limits the run time of systemctl.
const systemctlBound = time.Minute

// uninstall uninstalls the terminated agent of a manual machine. It restores what the model's proxy settings have
// changed, replaces the agent's own service by one that removes everything, and has systemd restart the
// service, which stops this process. If it is interrupted, either the agent's service runs it again or the new
// service continues.
func (a *Agent) uninstall(ctx context.Context) error {
	logger.Infof("uninstalling the agent of %s", a.config.Tag)
	if !hasSystemd() {
		return nil // the supervisor does it once this agent has terminated
	}
	err := a.proxies().Restore()
	if err == nil {
		// The removal also deletes this file and any drafts that a crash may leave.
		id := a.config.Tag.ID
		err = atomicfile.WriteFile(install.ServiceFile(id), []byte(install.RemovalService(id)), 0o644)
	}
	if err == nil {
		err = systemctl(ctx, "daemon-reload")
	}
	if err == nil {
		err = systemctl(ctx, "restart", "--no-block", install.ServiceName(a.config.Tag.ID))
	}
	if err != nil {
		return fmt.Errorf("cannot uninstall the agent of %s: %w", a.config.Tag, err)
	}
	return nil
}

func systemctl(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, systemctlBound)
	defer cancel()
	if err := runProgramOfHost(ctx, "systemctl", args...); err != nil {
		return fmt.Errorf("systemctl %s: %w", args[0], err)
	}
	return nil
}
