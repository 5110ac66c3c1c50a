package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// ClaimLeadership makes the unit the leader of its service, or lets it go on being
// so, for d from when this was called; its writes as the leader name the epoch
// that it returns. entity.LeadershipRefused while another unit leads.
func (c *Conn) ClaimLeadership(ctx context.Context, unit entity.Tag, d time.Duration) (epoch int64, err error) {
	var result params.Leadership
	err = c.call(ctx, "LeadershipService", 1, "ClaimLeadership", params.LeadershipClaim{Agent: agent(unit), Duration: d}, &result)
	return result.Epoch, err
}

// ReleaseLeadership lets another unit lead at once.
func (c *Conn) ReleaseLeadership(ctx context.Context, unit entity.Tag) error {
	return c.call(ctx, "LeadershipService", 1, "ReleaseLeadership", agent(unit), nil)
}

// BlockUntilLeadershipReleased returns when a claim may succeed. The server waits
// for a few minutes at the most: entity.Unavailable then, and whoever still wants
// to know asks again.
func (c *Conn) BlockUntilLeadershipReleased(ctx context.Context, unit entity.Tag) error {
	return c.call(ctx, "LeadershipService", 1, "BlockUntilLeadershipReleased", agent(unit), nil)
}
