package agent

import (
	"context"
	"slices"

	"juju/agent/install"
	"juju/apiserver/client"
	"juju/provider"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/firewaller"
	"juju/worker/firewaller/nftables"
)

// firewaller returns the worker that closes ports of a manual machine. It is the same worker that applies
// rules to a cloud; here the host takes the cloud's place and is its only instance.
func (a *Agent) firewaller(conn *client.Conn) worker.Func {
	machine, api := a.config.Tag, client.HostFirewallerFacade{Caller: conn}
	return firewaller.New(firewaller.Config{
		API:    hostExposure{api, machine},
		Cloud:  nftables.New(machine.String(), install.FirewallTable(machine.ID)),
		Report: func(ctx context.Context, why string) error { return api.SetFirewallError(ctx, machine, why) },
	})
}

// A hostExposure is the worker's view of a model with one host.
type hostExposure struct {
	api interface {
		Exposure(ctx context.Context, machine entity.Tag) (entity.HostExposure, error)
		WatchExposure(ctx context.Context, machine entity.Tag) (<-chan struct{}, error)
	}
	machine entity.Tag
}

// WatchExposure fires when the result of Exposure may have changed.
func (h hostExposure) WatchExposure(ctx context.Context) (<-chan struct{}, error) {
	return h.api.WatchExposure(ctx, h.machine)
}

// Exposure returns the host as an instance whose ports are all open, except those that units have opened without
// being exposed to everyone. If no port must be closed, there are no rules for the host.
func (h hostExposure) Exposure(ctx context.Context) (entity.Exposure, error) {
	host, err := h.api.Exposure(ctx, h.machine)
	x := entity.Exposure{Mode: host.Mode, Instances: map[string][]entity.PortRange{}, Hosts: host.Peers}
	open := host.Open
	for _, protocol := range []string{"tcp", "udp"} {
		open = slices.Concat(open, provider.ClosedPorts(protocol, host.Closed))
	}
	if len(provider.ClosedPorts("tcp", open))+len(provider.ClosedPorts("udp", open)) > 0 {
		x.Instances[h.machine.String()] = open
		x.From = map[string][]entity.PortsFrom{h.machine.String(): host.From}
	}
	return x, err
}
