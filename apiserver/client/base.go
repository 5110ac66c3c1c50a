package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// SetBase sets the base that new units of a service get, and the subordinates beside them. The error is Invalid if a charm or
// the cloud does not have it, unless force is set.
func (c *Conn) SetBase(ctx context.Context, service string, base entity.Base, force bool) error {
	var result params.ErrorResults
	if err := c.application(ctx, "UpdateApplicationBase", params.UpdateChannelArgs{Args: []params.UpdateChannelArg{
		{Entity: params.Entity{Tag: params.TagOf(entity.ServiceTag(service))}, Force: force, Channel: base.Short()}}}, &result); err != nil {
		return err
	}
	return only(result.Results)
}
