package backups

import (
	"context"
	"maps"
	"slices"

	"juju/agent/install"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/sshhost"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// tellHosts tells the agents on hosts that users have added where the controller is, over SSH with this user's keys. It
// warns of hosts and models that it can't reach.
func (r *restore) tellHosts(ctx context.Context, st *store.Store, t cli.Target) {
	script := install.TellScript(t.Controller.Addresses)
	for _, model := range slices.Sorted(maps.Values(t.Controller.Models)) {
		hosts, err := hostsOf(ctx, r.Session, st, t, model)
		if err != nil {
			r.Warn("cannot look for hosts that must be told where the controller is: " + err.Error())
		}
		for _, m := range hosts {
			if err := r.tell(ctx, m, script); err != nil {
				r.Warn("the agents on machine " + m.ID + " must be told where the controller is (see doc/operations.md): " +
					err.Error())
			}
		}
	}
}

// hostsOf returns the machines of a model that are users' hosts.
func hostsOf(ctx context.Context, s *cli.Session, st *store.Store, t cli.Target,
	model string) ([]entity.MachineStatus, error) {
	conn, err := connect.Dial(ctx, s, st, t, model)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	status, err := conn.Status(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(status.AllMachines(), func(m entity.MachineStatus) bool {
		return !entity.IsManualInstance(m.InstanceID)
	}), nil
}

func (r *restore) tell(ctx context.Context, m entity.MachineStatus, script string) error {
	host, err := ssh.HostOf(m)
	if err != nil {
		return err
	}
	conn, err := sshhost.Dial(ctx, host, ssh.UserKeys(r.Session))
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Tell(ctx, script)
}
