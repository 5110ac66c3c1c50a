package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// machineManagerUpgradeSeriesPrepare prepares a machine for an upgrade of its operating system.
func machineManagerUpgradeSeriesPrepare(ctx context.Context, c *Caller,
	p params.UpdateChannelArg) (params.ErrorResult, error) {
	return ofMachine(ctx, c, "UpgradeSeriesPrepare", p, func(m *state.Machine) error {
		if p.Channel == "" {
			return entity.Errorf(entity.Invalid, "base missing from args")
		}
		base, err := entity.ParseBase(p.Channel, entity.BaseOf(m.Series()).Name)
		if err != nil {
			return err
		}
		return m.PrepareUpgrade(ctx, base.Series(), p.Force)
	})
}

// machineManagerUpgradeSeriesComplete completes the upgrade of a machine's operating system.
func machineManagerUpgradeSeriesComplete(ctx context.Context, c *Caller,
	p params.UpdateChannelArg) (params.ErrorResult, error) {
	return ofMachine(ctx, c, "UpgradeSeriesComplete", p, func(m *state.Machine) error {
		return m.CompleteUpgrade(ctx, p.KeepBase)
	})
}

// ofMachine carries out a step of an upgrade on its machine.
func ofMachine(ctx context.Context, c *Caller, method string, p params.UpdateChannelArg,
	do func(*state.Machine) error) (params.ErrorResult, error) {
	return outcomes(c, method, []params.UpdateChannelArg{p}, func(p params.UpdateChannelArg) error {
		if err := isKind(p.Entity.Tag, entity.KindMachine); err != nil {
			return err
		}
		m, err := c.Model.Machine(ctx, p.Entity.Tag.ID)
		if err != nil {
			return err
		}
		return do(m)
	}).Results[0], nil
}
