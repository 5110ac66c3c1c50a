package apiserver

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
)

func deployerUnits(ctx context.Context, c *caller, p params.Agent) (params.DeployedUnits, error) {
	units, err := c.model.DeployedUnits(ctx, p.Tag.Tag)
	return params.DeployedUnits{Units: units}, err
}

func deployerWatch(ctx context.Context, c *caller, p params.Agent) (stream, error) {
	return names(c.model.WatchDeployed(ctx, p.Tag.Tag))
}

func deployerRemoveUnit(ctx context.Context, c *caller, p params.Agent) error {
	return ignoreGone(unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.Remove(ctx) }))
}

// newPassword makes a fresh password for the agent of a machine or unit. It is
// told to whoever makes that agent, and to nobody else.
func newPassword(ctx context.Context, c *caller, p params.Agent) (params.Password, error) {
	password := state.NewAgentPassword()
	return params.Password{Password: password}, c.model.SetAgentPassword(ctx, p.Tag.Tag, password)
}
