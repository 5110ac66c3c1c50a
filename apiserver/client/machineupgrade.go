package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// PrepareUpgrade prepares a machine for the upgrade of its operating system to a base. The error is Invalid if a charm of its
// units does not name the base, unless force is set.
func (c *Conn) PrepareUpgrade(ctx context.Context, machine string, base entity.Base, force bool) error {
	return c.upgradeMachine(ctx, "UpgradeSeriesPrepare", machine, params.UpdateChannelArg{Channel: base.Short(), Force: force})
}

// CompleteUpgrade completes the upgrade of the operating system of a machine that PrepareUpgrade has prepared. With keep the
// machine keeps its base.
func (c *Conn) CompleteUpgrade(ctx context.Context, machine string, keep bool) error {
	return c.upgradeMachine(ctx, "UpgradeSeriesComplete", machine, params.UpdateChannelArg{KeepBase: keep})
}

func (c *Conn) upgradeMachine(ctx context.Context, method, machine string, arg params.UpdateChannelArg) error {
	arg.Entity = params.Entity{Tag: params.TagOf(entity.MachineTag(machine))}
	var result params.ErrorResult
	if err := c.call(ctx, "MachineManager", 10, method, arg, &result); err != nil {
		return err
	}
	return only([]params.ErrorResult{result})
}
