package facades

import (
	"cmp"
	"context"

	"juju/apiserver/params"
	"juju/state"
)

func clientFullStatus(ctx context.Context, c *Caller, p params.StatusParams) (*params.FullStatus, error) {
	status, err := c.Model.Status(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := c.Model.Settings().Binaries(ctx)
	if err != nil {
		return nil, err
	}
	status.Model.Version = cmp.Or(wanted.Version, c.Version)
	// Lost agents are marked before the patterns are applied, so that patterns can match them.
	c.Presence.Mark(status, wanted)
	if err := state.MatchStatus(status, p.Patterns); err != nil {
		return nil, err
	}
	return params.FullStatusOf(status), nil
}

// statusWatch sends an event when the result of FullStatus may have changed: when the model's documents change, and
// when an agent is lost or reconnects.
func statusWatch(ctx context.Context, c *Caller, _ None) (Stream, error) {
	changes, err := c.Model.Watches().Status(ctx)
	if err != nil {
		return Stream{}, err
	}
	return Notify(c.Presence.Watch(ctx, c.Model.UUID(), changes), nil)
}
