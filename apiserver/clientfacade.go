package apiserver

import (
	"context"

	"juju/apiserver/params"
)

func clientFullStatus(ctx context.Context, c *caller, p params.StatusParams) (*params.FullStatus, error) {
	status, err := c.model.Status(ctx, p.Patterns)
	if err != nil {
		return nil, err
	}
	if status.Model.Version == "" {
		status.Model.Version = c.server.config.Version
	}
	c.server.presence.mark(status)
	return params.FullStatusOf(status), nil
}
