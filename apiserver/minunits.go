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
