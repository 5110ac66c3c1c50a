package client

import (
	"context"

	"juju/apiserver/params"
)

// SetMinUnits has a service keep at least n Alive units, or none for 0.
func (c *Conn) SetMinUnits(ctx context.Context, service string, n int) error {
	return c.application(ctx, "SetMinUnits", params.SetMinUnits{ApplicationName: service, MinUnits: n}, nil)
}
