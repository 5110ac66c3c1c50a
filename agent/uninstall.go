package agent

import (
	"context"
	"fmt"
	"time"

	"juju/agent/host/atomicfile"
	"juju/agent/install"
)

// systemctlBound is how long systemd may take to answer.
const systemctlBound = time.Minute

// uninstall takes a manual machine's agent, which has ended for good, off its host. It replaces the
// agent's own service by one that removes everything, and has systemd start that, which ends this
// process. Before, it takes back what the model's settings of proxies have changed. If it is interrupted,
// the agent's service starts it again, or the new one goes on.
func (a *Agent) uninstall(ctx context.Context) error {
	logger.Infof("uninstalling the agent of %s", a.config.Tag)
	if !hasSystemd() {
		return nil // the supervisor sees that this agent has ended for good
	}
	err := a.proxies().Restore()
	if err == nil {
		// It removes the service in the end, and what crashes of this write have left.
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
