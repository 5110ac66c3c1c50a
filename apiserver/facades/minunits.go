package facades

import (
	"context"

	"juju/apiserver/params"
)

func applicationSetMinUnits(ctx context.Context, c *Caller, p params.SetMinUnits) error {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return err
	}
	return svc.SetMinUnits(ctx, p.MinUnits)
}
