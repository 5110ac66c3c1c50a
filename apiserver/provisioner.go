package apiserver

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

func provisionerWatch(ctx context.Context, c *caller, _ none) (stream, error) {
	return names(c.model.WatchMachines(ctx))
}

func provisionerMachines(ctx context.Context, c *caller, p params.MachineIDs) (params.Machines, error) {
	machines, err := c.model.MachineInfos(ctx, p.IDs...)
	return params.Machines{Machines: machines}, err
}

func provisionerSetProvisioned(ctx context.Context, c *caller, p params.AgentInstance) error {
	return machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.SetProvisioned(ctx, p.Instance) })
}

func provisionerRemoveMachine(ctx context.Context, c *caller, p params.Agent) error {
	return ignoreGone(machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.Remove(ctx) }))
}

func provisionerSetInstanceStatus(ctx context.Context, c *caller, p params.AgentStatus) error {
	status := p.Status
	status.Since = time.Time{} // now, by the controller's clock
	return ignoreGone(machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.SetInstanceStatus(ctx, status) }))
}

// provisionerLoseInstance believes no cloud that says an instance is not there whose
// agent is connected.
func provisionerLoseInstance(ctx context.Context, c *caller, p params.AgentInstance) error {
	if c.server.presence.connected(c.model.UUID(), p.Tag.Tag) {
		return entity.Errorf(entity.InUse, "the agent of machine %s is connected", p.Tag.ID)
	}
	return ignoreGone(machineDo(ctx, c, p.Tag.Tag, func(m *state.Machine) error { return m.LoseInstance(ctx, p.Instance) }))
}

func provisionerLeftovers(ctx context.Context, c *caller, _ none) (params.Leftovers, error) {
	leftovers, err := c.model.Leftovers(ctx)
	return params.Leftovers{Leftovers: leftovers}, err
}

func provisionerDropLeftovers(ctx context.Context, c *caller, p params.InstanceID) error {
	return c.model.DropLeftovers(ctx, p.ID)
}
