package apiserver

import (
	"context"

	"juju/apiserver/params"
)

func applicationSetMinUnits(ctx context.Context, c *caller, p params.SetMinUnits) error {
	svc, err := c.model.Service(ctx, p.ApplicationName)
	if err != nil {
		return err
	}
	return svc.SetMinUnits(ctx, p.MinUnits)
}

func scalerEnsureMinUnits(ctx context.Context, c *caller, p params.Agent) error {
	return c.model.EnsureMinUnits(ctx, p.Tag.ID)
}

func scalerWatchMinUnits(ctx context.Context, c *caller, _ none) (stream, error) {
	return names(c.model.WatchMinUnits(ctx))
}
