package apiserver

import (
	"context"

	"juju/apiserver/params"
	"juju/state"
)

func leadershipClaim(ctx context.Context, c *caller, p params.LeadershipClaim) (params.Leadership, error) {
	return unitGet(ctx, c, p.Tag.Tag, func(u *state.Unit) (params.Leadership, error) {
		epoch, err := u.ClaimLeadership(ctx, p.Duration)
		return params.Leadership{Epoch: epoch}, err
	})
}

// leadershipRelease has nothing to do for a unit that is gone already.
func leadershipRelease(ctx context.Context, c *caller, p params.Agent) error {
	return ignoreGone(unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.ReleaseLeadership(ctx) }))
}

func leadershipBlock(ctx context.Context, c *caller, p params.Agent) error {
	return unitDo(ctx, c, p.Tag.Tag, func(u *state.Unit) error { return u.BlockUntilLeadershipReleased(ctx) })
}
