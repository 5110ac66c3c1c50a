package client

import (
	"context"

	"juju/apiserver/params"
)

// SetMinUnits sets the minimum number of Alive units of a service; 0 for none.
func (c *Conn) SetMinUnits(ctx context.Context, service string, n int) error {
	return c.application(ctx, "SetMinUnits", params.SetMinUnits{ApplicationName: service, MinUnits: n}, nil)
}
