package apiserver

import (
	"cmp"
	"context"

	"juju/apiserver/params"
	"juju/state"
)

func clientFullStatus(ctx context.Context, c *caller, p params.StatusParams) (*params.FullStatus, error) {
	status, err := c.model.Status(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := c.model.Settings().Programs(ctx)
	if err != nil {
		return nil, err
	}
	status.Model.Version = cmp.Or(wanted.Version, c.server.config.Version)
	// Lost agents are marked before the patterns are matched, so that patterns can match
	// them.
	c.server.presence.Mark(status, wanted)
	if err := state.MatchStatus(status, p.Patterns); err != nil {
		return nil, err
	}
	return params.FullStatusOf(status), nil
}

// statusWatch fires when what FullStatus returns may have changed: when the model's
// documents change, and when an agent is lost or comes back.
func statusWatch(ctx context.Context, c *caller, _ none) (stream, error) {
	changes, err := c.model.Watches().Status(ctx)
	if err != nil {
		return stream{}, err
	}
	return notify(c.server.presence.Watch(ctx, c.model.UUID(), changes), nil)
}
