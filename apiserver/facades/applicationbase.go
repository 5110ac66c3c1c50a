package facades

import (
	"context"
	"fmt"

	"juju/apiserver/params"
	"juju/state/entity"
)

// applicationUpdateApplicationBase sets the bases that new units of services get.
func applicationUpdateApplicationBase(ctx context.Context, c *Caller,
	p params.UpdateChannelArgs) (params.ErrorResults, error) {
	return outcomes(c, "UpdateApplicationBase", p.Args, func(one params.UpdateChannelArg) error {
		if err := isKind(one.Entity.Tag, entity.KindService); err != nil {
			return err
		}
		svc, err := c.Model.Service(ctx, one.Entity.Tag.ID)
		if err != nil {
			return err
		}
		if one.Channel == "" {
			return entity.Errorf(entity.Invalid, "base missing from args")
		}
		base, err := entity.ParseBase(one.Channel, entity.BaseOf(svc.Series()).Name)
		if err != nil {
			return err
		}
		if !one.Force {
			if err := c.checkSeries(ctx, "series", base.Series()); err != nil {
				return fmt.Errorf("cannot set the base of service %q: %w", svc.Name(),
					entity.WithHint(err, "To set it anyway: --force"))
			}
		}
		return svc.SetSeries(ctx, base.Series(), one.Force)
	}), nil
}
