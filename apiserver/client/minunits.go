package client

import (
	"context"

	"juju/apiserver/params"
)

// SetMinUnits sets the number of Alive units that a service keeps; 0 for none.
func (c *Conn) SetMinUnits(ctx context.Context, service string, n int) error {
	return c.application(ctx, "SetMinUnits", params.SetMinUnits{ApplicationName: service, MinUnits: n}, nil)
}
