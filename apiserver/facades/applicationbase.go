package facades

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/state/entity"
)

// applicationUpdateApplicationBase sets the bases that new units of services get.
func applicationUpdateApplicationBase(ctx context.Context, c *Caller, p params.UpdateChannelArgs) (params.ErrorResults, error) {
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
			if err := checkBase(ctx, c, base); err != nil {
				return fmt.Errorf("cannot set the base of service %q: %w", svc.Name(), err)
			}
		}
		return svc.SetSeries(ctx, base.Series(), one.Force)
	}), nil
}

// checkBase rejects a base that the cloud does not have.
func checkBase(ctx context.Context, c *Caller, base entity.Base) error {
	return c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		have, err := cloud.Series(ctx)
		if err != nil || len(have) == 0 || slices.Contains(have, base.Series()) {
			return err
		}
		var bases []string
		for _, series := range have {
			bases = append(bases, entity.BaseOf(series).Short())
		}
		return entity.WithHint(entity.Errorf(entity.Invalid, "base %q is not available: the cloud has %s", base.Short(),
			strings.Join(bases, ", ")), "To set it anyway: --force")
	})
}
