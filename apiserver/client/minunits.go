package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// SetMinUnits has a service keep at least n Alive units, or none for 0.
func (c *Conn) SetMinUnits(ctx context.Context, service string, n int) error {
	return c.application(ctx, "SetMinUnits", params.SetMinUnits{ApplicationName: service, MinUnits: n}, nil)
}

// WatchMinUnits names services that may have fewer units than they keep; the first
// event names all that keep some.
func (c *Conn) WatchMinUnits(ctx context.Context) (<-chan []string, error) {
	return names(ctx, c, "ApplicationScaler", "WatchMinUnits", nil)
}

// EnsureMinUnits adds the units that a service lacks, if it lacks any.
func (c *Conn) EnsureMinUnits(ctx context.Context, service entity.Tag) error {
	return c.call(ctx, "ApplicationScaler", 1, "EnsureMinUnits", agent(service), nil)
}
