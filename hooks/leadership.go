package hooks

import (
	"context"
	"errors"
	"time"
)

// Leadership reports whether a unit is its service's leader.
type Leadership interface {
	// Lead returns the epoch of the claim by which the unit leads its service for at least d from
	// now; 0 if it does not.
	Lead(ctx context.Context, d time.Duration) (epoch int64, err error)
}

// leaderPromise is how long a unit is guaranteed to remain leader after is-leader reports it.
const leaderPromise = 30 * time.Second

// leads returns the epoch of the unit's leadership claim, 0 if it is not the leader. It promises nothing, so that a
// unit whose claim is not renewed, as when it is dying, can do for 30 seconds what is-leader has told it that it may.
func (c *Context) leads(ctx context.Context) (epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	if epoch, err = c.params.Leadership.Lead(ctx, leaderPromise); err != nil || epoch != 0 {
		return epoch, err
	}
	return c.params.Leadership.Lead(ctx, 0)
}

func (c toolContext) IsLeader(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	epoch, err := c.params.Leadership.Lead(ctx, leaderPromise)
	return epoch != 0, err
}

// LeaderSettings returns the settings of the service's leader. Callers must not modify the map.
func (c toolContext) LeaderSettings(ctx context.Context) (map[string]string, error) {
	return c.shared.get(ctx, func(ctx context.Context) (map[string]string, error) {
		return c.backend.LeaderSettings(ctx, c.unit)
	})
}

// SetLeaderSettings sets settings for all units of the service immediately.
func (c toolContext) SetLeaderSettings(ctx context.Context, settings map[string]string) error {
	epoch, err := c.leads(ctx)
	if err != nil {
		return err
	}
	if epoch == 0 {
		return errors.New("not the leader")
	}
	return c.shared.change(ctx, func(ctx context.Context) error {
		return c.backend.SetLeaderSettings(ctx, c.unit, epoch, settings)
	})
}
